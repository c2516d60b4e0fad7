#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// Character classes, as the `tokenizers` library assigns them. It wrote most tokenizer.json files
/// in use, and its Unicode data comes from several versions, so the tables are generated to match
/// it (scripts/make_unicode_tables.py).
enum CodepointClass : uint8_t {
  kIsControl = 1,         // BertNormalizer's clean_text removes it
  kIsPunctuation = 2,     // BertPreTokenizer splits around it
  kIsNonspacingMark = 4,  // BertNormalizer's strip_accents removes it
  kIsCombiningMark = 8,   // StripAccents removes it
  kIsLetter = 16,         // \p{L}
  kIsNumber = 32,         // \p{N}
  kIsWord = 64,           // \w
  kIsInert = 128,         // newer than the normalization tables, which leave it unchanged
};

/// Returns the classes of a code point, or-ed; 0 above U+10FFFF.
uint8_t classes_of(char32_t code);

/// White space as defined by Unicode (and Rust's char::is_whitespace).
bool is_white_space(char32_t code);

/// Number of white space bytes at the beginning, or at the end, of a text in valid UTF-8.
std::size_t leading_white_space(std::string_view text);
std::size_t trailing_white_space(std::string_view text);

/// Whether the code point is an ideograph, which BERT splits off as a single word.
bool is_ideograph(char32_t code);

/// Returns the lower-case letter, if it is a single code point, else `code`. Only U+0130 has a
/// longer form (`i` and U+0307), which is left to the caller.
char32_t lower_case(char32_t code);

/// Unicode general categories, by their first letter.
enum class CharacterKind { kLetter, kMark, kNumber, kPunctuation, kSymbol, kSeparator, kOther };

CharacterKind kind_of(char32_t code);

/// White space as in Python's `str.split`: Unicode white space and the four ASCII separators.
bool is_python_space(char32_t code);

/// Returns the text in lower case, as Python's `str.lower`.
std::u32string python_lower(std::u32string_view text);

}  // namespace weft
