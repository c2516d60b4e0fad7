#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::utf8 {

inline constexpr char32_t kReplacement = 0xFFFD;

/// Returns the position of the first byte from `at` on that is not ASCII; text.size() if there is
/// none.
std::size_t skip_ascii(std::string_view text, std::size_t at);

/// Returns the byte offset of the first ill-formed UTF-8 sequence (overlong forms, surrogates and
/// values above U+10FFFF included), or nullopt.
std::optional<std::size_t> first_invalid(std::string_view text);

/// Returns the code point at `at` and advances `at` past it. Ill-formed bytes give one kReplacement
/// per maximal ill-formed part (Unicode, "substitution of maximal subparts").
char32_t next(std::string_view text, std::size_t& at);

/// Position of the last code point of a text that is valid UTF-8 and not empty.
std::size_t begin_of_last(std::string_view text);

/// Appends the code point in UTF-8.
void append(std::string& text, char32_t code);

std::u32string decode(std::string_view text);
std::string encode(std::u32string_view text);

/// Number of code points.
int64_t count(std::string_view text);

/// Replaces every ill-formed part by U+FFFD.
std::string replace_invalid(std::string_view text);

}  // namespace weft::utf8
