#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/datasets/labelled_dataset.h"

namespace weft::data {

/// Rows of one or two texts each. The function may be called by many threads at once.
struct ComparedRows {
  int64_t size = 0;
  std::function<std::vector<std::string>(int64_t row)> texts = {};
};

/// A row of the evaluation and the row of training that stands for it best.
struct NearDuplicate {
  int64_t evaluate = 0;
  int64_t train = 0;
  bool is_exact = false;        // but for letter case, punctuation and spaces
  bool has_same_label = false;  // where several are as near: one of them has
};

/// Finds the rows of `evaluate` that stand in `train` exactly or almost: each text's shingles
/// (stretches of five characters) have a Jaccard similarity of 0.8 or more.
///
/// Rows that agree in four MinHash values of any of 16 bands (locality-sensitive hashing; Leskovec,
/// Rajaraman, Ullman, "Mining of Massive Datasets", chapter 3) are compared shingle by shingle, so
/// none is named wrongly; one at a similarity of just 0.8 is missed with a probability of 2e-4. The
/// time is linear in the texts: of rows that many others resemble only so many are looked at. The
/// result does not depend on the number of threads.
std::vector<NearDuplicate> find_near_duplicates(
    const ComparedRows& train,
    const ComparedRows& evaluate,
    const std::function<bool(int64_t evaluate, int64_t train)>& has_same_label);

/// `12 of 872 evaluation rows stand in training, 9 word for word and 3 almost (e.g. dev.tsv, row 17
/// and train.tsv, row 210); 3 of them with another label (e.g. ...)`; nothing where none does.
std::optional<std::string> near_duplicate_warning(const LabelledDataset& train,
                                                  const LabelledDataset& evaluate);

}  // namespace weft::data
