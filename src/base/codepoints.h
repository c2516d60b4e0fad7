#pragma once

#include <cstdint>

namespace weft {

/// What a code point is taken for. Two libraries read each text: `tokenizers` wrote most
/// tokenizer.json files in use, and its Unicode data are of several ages, so these facts are its
/// own (scripts/make_unicode_tables.py).
enum CodepointClass : uint8_t {
  kIsControl = 1,         // BertNormalizer's clean_text removes it
  kIsPunctuation = 2,     // BertPreTokenizer cuts it out
  kIsNonspacingMark = 4,  // BertNormalizer's strip_accents removes it
  kIsCombiningMark = 8,   // StripAccents removes it
  kIsLetter = 16,         // \p{L}
  kIsNumber = 32,         // \p{N}
  kIsWord = 64,           // \w
  kIsInert = 128,         // newer than the normalisation forms, which leave it alone
};

/// The classes of a code point, or-ed. Above U+10FFFF: none.
uint8_t classes_of(char32_t code);

/// White space as Unicode has it (and Rust's char::is_whitespace).
bool is_white_space(char32_t code);

/// Blocks of ideographs that BERT sets apart, each a word.
bool is_ideograph(char32_t code);

/// The lower-case letter, where there is one of one code point; U+0130 is the one letter with a
/// longer form (`i` and U+0307), and is left to the caller.
char32_t lower_case(char32_t code);

}  // namespace weft
