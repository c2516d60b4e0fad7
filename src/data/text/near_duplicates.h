#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/datasets/labelled_dataset.h"

namespace weft::data {

/// Rows of one or two texts each. The function may be called by many threads at once.
struct RowTexts {
  int64_t size = 0;
  std::function<std::vector<std::string>(int64_t row)> texts = {};
};

/// An evaluation row and the training row that matches it best.
struct NearDuplicate {
  int64_t evaluate = 0;
  int64_t train = 0;
  bool is_exact = false;        // except for letter case, punctuation and spaces
  bool has_same_label = false;  // if several are equally near: one of them has
};

/// Finds the rows of `evaluate` that occur in `train` exactly or almost: the shingles (runs of five
/// characters) of each text have a Jaccard similarity of 0.8 or more.
///
/// Rows that agree in four MinHash values of any of 16 bands (locality-sensitive hashing; Leskovec,
/// Rajaraman, Ullman, "Mining of Massive Datasets", chapter 3) are compared shingle by shingle, so
/// there are no false positives; a row at a similarity of exactly 0.8 is missed with probability
/// 2e-4. Time is linear in the texts, because only a bounded number of similar rows is examined per
/// row. The result does not depend on the number of threads.
std::vector<NearDuplicate> find_near_duplicates(
    const RowTexts& train,
    const RowTexts& evaluate,
    const std::function<bool(int64_t evaluate, int64_t train)>& has_same_label);

/// `12 of 872 evaluation rows also occur in the training data, 9 verbatim and 3 nearly identical
/// (e.g. dev.tsv, row 17 and train.tsv, row 210); 3 of them with a different label (e.g. ...)`;
/// nullopt if none do.
std::optional<std::string> near_duplicate_warning(const LabelledDataset& train,
                                                  const LabelledDataset& evaluate);

}  // namespace weft::data
