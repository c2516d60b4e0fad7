#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Which pieces of a word bear its tag. A tag B-X stands on the first piece alone, on the others
/// I-X, where the tags have that.
enum class LabelPieces { kFirst, kAll };

struct TaggedSettings {
  int64_t length = 512;  // longest sequence, special tokens counted
  Overflow overflow = Overflow::kCut;
  bool has_types = true;
  LabelPieces pieces = LabelPieces::kFirst;
  std::vector<std::string> labels = {};  // known tags in order; empty: those of the data
  /// Names, by id, of the languages that the model tells apart: types are their ids.
  std::vector<std::string> languages = {};
};

/// Sentences of words with a tag each.
class TaggedDataset : public Dataset {
 public:
  /// Tags in the order of their ids.
  virtual const std::vector<std::string>& labels() const = 0;
  /// The words of an epoch's item that bear a tag in it: neither those that were cut off nor those
  /// of which the tokenizer leaves nothing.
  virtual std::vector<std::string> words(int64_t epoch, int64_t item) const = 0;
};

/// Reads CoNLL and JSON lines files (read_tagged_rows). The targets of an example are the ids of
/// tags. Sentences longer than the length are cut, left out, or go on in further sequences, which
/// break between words. Throws data::Error naming the place: an unknown tag, no sentence.
std::shared_ptr<const TaggedDataset> make_tagged_dataset(
    const std::vector<DataItem>& items,
    const TaggedSettings& settings,
    std::shared_ptr<const Tokenizer> tokenizer);

}  // namespace weft::data
