#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/fold.h"
#include "data/label_form.h"
#include "data/tokenizer.h"

namespace weft::data {

struct LabelledSettings {
  int64_t length = 512;  // longest sequence, special tokens counted
  Overflow overflow = Overflow::kCut;
  bool has_types = true;
  LabelForm form = {};
  Fold fold = {};                        // which rows there are
  std::vector<std::string> labels = {};  // known class names in order; empty: those of the data
  /// Names, by id, of the languages that the model tells apart: types are their ids.
  std::vector<std::string> languages = {};
};

/// Texts, or pairs of texts, with a class, any number of classes, or numbers each.
class LabelledDataset : public Dataset {
 public:
  /// Class names in the order of their ids; of a regression the names of its numbers where it has
  /// several, else none.
  virtual const std::vector<std::string>& labels() const = 0;
  /// How many rows belong to each class, and how many rows there are: weights of the data items do
  /// not count.
  virtual std::vector<int64_t> class_counts() const = 0;
  virtual int64_t rows() const = 0;
  /// Texts of an epoch's item: one or two.
  virtual std::vector<std::string> texts(int64_t epoch, int64_t item) const = 0;
};

/// Reads CSV, TSV and JSONL files (columns as in DataItem; `text`/`sentence1`/`sentence`,
/// `text_pair`/`sentence2`, `label` when not named). A pair is cut from its longer text first,
/// token by token. Throws data::Error naming the place: unknown label, empty label, no rows.
std::shared_ptr<const LabelledDataset> make_labelled_dataset(
    const std::vector<DataItem>& items,
    const LabelledSettings& settings,
    std::shared_ptr<const Tokenizer> tokenizer);

}  // namespace weft::data
