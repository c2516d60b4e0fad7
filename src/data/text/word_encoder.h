#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"

namespace weft::data {

/// Encodes the words of a pre-split text, like `is_split_into_words` of transformers: each word
/// separately. If the tokenizer encodes a preceding space in word pieces but adds none to the first
/// word of a text (byte-level BPE without `add_prefix_space`), the word gets a space, so that it is
/// encoded as inside a sentence.
class WordEncoder {
 public:
  /// `tokenizer` must outlive it.
  explicit WordEncoder(const Tokenizer& tokenizer);

  /// Appends the word's ids; none if the tokenizer maps the word to nothing.
  void encode(std::string_view word, std::vector<int32_t>& ids) const;

 private:
  const Tokenizer& tokenizer_;
  bool adds_space_ = false;
};

}  // namespace weft::data
