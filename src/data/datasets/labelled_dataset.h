#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/datasets/sentence_encoder.h"
#include "data/label_form.h"
#include "data/tokenizer.h"

namespace weft::data {

struct LabelledSettings {
  int64_t length = 512;  // longest sequence, special tokens included
  Truncation truncation = Truncation::kTruncate;
  bool has_token_type_ids = true;
  LabelFormat label_format = {};
  std::vector<std::string> labels = {};  // known class names in order; empty: those of the data
  bool may_replace_labels = false;       // by the classes of the data if these are not all known
  /// Language names in id order, for models with language ids: these are the token types.
  std::vector<std::string> languages = {};
  /// For models that read documents sentence by sentence; `length` is that of a document.
  std::optional<SentenceLimits> sentences = {};
};

/// Texts, or pairs of texts, each with a class, any number of classes, or numbers.
class LabelledDataset : public Dataset {
 public:
  /// Class names in id order; for a regression with several values the names of these, else empty.
  virtual const std::vector<std::string>& labels() const = 0;
  /// Number of rows per class, and number of rows: without the weights of the data items.
  virtual std::vector<int64_t> class_counts() const = 0;
  virtual int64_t rows() const = 0;
  /// Texts of an item in this epoch: one or two.
  virtual std::vector<std::string> texts(int64_t epoch, int64_t item) const = 0;
};

/// Reads CSV, TSV, JSONL and Parquet (columns as in DataItem, by default
/// `text`/`sentence1`/`sentence`, `text_pair`/`sentence2`, `label`). Pairs lose tokens one by one
/// from the longer text. Throws data::Error naming the location: unknown or empty label, no rows.
std::shared_ptr<const LabelledDataset> make_labelled_dataset(
    const std::vector<DataItem>& items,
    const LabelledSettings& settings,
    std::shared_ptr<const Tokenizer> tokenizer);

}  // namespace weft::data
