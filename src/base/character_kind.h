#pragma once

#include <string>
#include <string_view>

namespace weft {

/// Unicode general categories, by their first letter.
enum class CharacterKind { kLetter, kMark, kNumber, kPunctuation, kSymbol, kSeparator, kOther };

CharacterKind kind_of(char32_t code);

/// White space as in Python's `str.split`: Unicode white space and the four ASCII separators.
bool is_python_space(char32_t code);

/// Returns the text in lower case, as Python's `str.lower`.
std::u32string python_lower(std::u32string_view text);

}  // namespace weft
