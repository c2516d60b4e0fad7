#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

/// A word of a running text and where it stands, in characters (code points).
struct TextWord {
  std::string text;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Cuts a text into words as tagged corpora have them: at white space; punctuation at a word's
/// begin and end stands alone, sign by sign, as does a final `'s`. A full stop stays with a word
/// that has one inside (`U.S.`), and what is inside of a word stays (`well-known`, `3.5`).
std::vector<TextWord> words_of_text(std::string_view text);

/// The words as they stand in their text joined by spaces.
std::vector<TextWord> place_words(const std::vector<std::string>& words);

/// For words of these many pieces, where stretches of at most `room` pieces end (in words); a
/// longer word is a stretch of its own.
std::vector<int64_t> word_stretches(const std::vector<int32_t>& pieces, int64_t room);

}  // namespace weft::data
