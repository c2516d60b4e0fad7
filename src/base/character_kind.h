#pragma once

#include <string>
#include <string_view>

namespace weft {

/// The general categories of Unicode, by their first letter.
enum class CharacterKind { kLetter, kMark, kNumber, kPunctuation, kSymbol, kSeparator, kOther };

CharacterKind kind_of(char32_t code);

/// White space as Python's `str.split` takes it: that of Unicode, and the four separators of ASCII.
bool is_python_space(char32_t code);

/// The text in lower case, as Python's `str.lower` writes it.
std::u32string python_lower(std::u32string_view text);

}  // namespace weft
