#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/datasets/sentence_encoder.h"
#include "data/tokenizer.h"

namespace weft::data {

struct TaggedSettings {
  int64_t length = 512;  // longest sequence, special tokens included
  Truncation truncation = Truncation::kTruncate;
  bool has_token_type_ids = true;
  /// Whether every token of a word is labelled, not only the first: a tag B-X becomes I-X on the
  /// tokens after the first, if the data have that tag.
  bool label_all_tokens = false;
  std::vector<std::string> labels = {};  // known tags in order; empty: those of the data
  bool may_replace_labels = false;       // by the tags of the data if these are not all known
  /// Language names in id order, for models with language ids: these are the token types.
  std::vector<std::string> languages = {};
  /// For models that read documents sentence by sentence: the sentences of documents have tags, and
  /// `length` is that of a document.
  std::optional<SentenceLimits> sentences = {};
};

/// Sentences of words with a tag each, or documents of sentences with a tag each.
class TaggedDataset : public Dataset {
 public:
  /// Tags in id order.
  virtual const std::vector<std::string>& labels() const = 0;
  /// Number of words per tag, without the weights of the data items.
  virtual std::vector<int64_t> class_counts() const = 0;
  /// What has a tag: `word` or `sentence`.
  virtual std::string_view unit() const = 0;
  /// Words of an item that have a tag in this epoch: without those that were truncated or that the
  /// tokenizer maps to no piece. Or sentences of a document.
  virtual std::vector<std::string> words(int64_t epoch, int64_t item) const = 0;
};

/// Reads CoNLL, JSON lines and Parquet files (read_tagged_rows). The targets of an example are tag
/// ids; that of a sentence of a document is at its last token. Sentences longer than the length are
/// truncated, dropped, or continued in further sequences, which break between words; documents are
/// not continued. Throws data::Error naming the location: an unknown tag, no sentence.
std::shared_ptr<const TaggedDataset> make_tagged_dataset(
    const std::vector<DataItem>& items,
    const TaggedSettings& settings,
    std::shared_ptr<const Tokenizer> tokenizer);

}  // namespace weft::data
