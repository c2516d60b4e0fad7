#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"

namespace weft::data {

/// Pieces of words that were told apart before, as `is_split_into_words` of transformers has them:
/// each word by itself. Where the tokenizer writes a space into the pieces of words but adds none
/// to a text's first word (byte-level BPE without `add_prefix_space`), a word gets one, so that it
/// looks as inside of a sentence.
class WordEncoder {
 public:
  /// `tokenizer` must outlive it.
  explicit WordEncoder(const Tokenizer& tokenizer);

  /// Appends the word's ids; a word of which the tokenizer leaves nothing has none.
  void encode(std::string_view word, std::vector<int32_t>& ids) const;

 private:
  const Tokenizer& tokenizer_;
  bool adds_space_ = false;
};

}  // namespace weft::data
