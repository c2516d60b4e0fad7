#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"

namespace weft::data {

/// A word of a running text and its position, in characters (code points).
struct TextWord {
  std::string text;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Splits a text into words as in tagged corpora: at white space; each punctuation character at
/// either end of a word is a separate word, as is a final `'s`. A full stop stays with a word that
/// contains another one (`U.S.`), and word interiors are not split (`well-known`, `3.5`).
std::vector<TextWord> split_words(std::string_view text);

/// Returns the words with their positions in the text of all words joined by spaces.
std::vector<TextWord> join_words(const std::vector<std::string>& words);

/// Splits words with these piece counts into chunks of at most `max_tokens` pieces and returns the
/// end of each chunk (in words); a longer word is a chunk of its own.
std::vector<int64_t> chunk_words(const std::vector<int32_t>& pieces, int64_t max_tokens);

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
