#pragma once

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Concatenates all arguments as printed by `<<`.
template <class... Parts>
std::string str_cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Joins words: `a, b, c`.
std::string join(const std::vector<std::string>& words, std::string_view separator = ", ");

/// Joins words: `a, b or c`.
std::string join_alternatives(std::vector<std::string> words);

/// Splits at each `separator`; an empty text gives one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Replaces `fields` by those of a line that are separated by spaces and tabs.
void split_fields(std::string_view line, std::vector<std::string_view>& fields);

/// Removes ASCII white space at both ends.
std::string_view trim(std::string_view text);

/// ASCII letters in lower case, `-` as `_`: names that differ only in these mean the same.
std::string fold_name(std::string_view name);

/// `1234567` -> `1,234,567`.
std::string with_commas(int64_t number);

/// `1 row`, `1,234 rows`.
std::string counted(int64_t number, std::string_view noun);

/// Verb after counted(): `was` for 1, else `were`.
std::string_view was_or_were(int64_t number);

/// `12.50 %`; four decimals below 0.1 %. 0 if `whole` is 0.
std::string format_percent(int64_t part, int64_t whole);

/// The number rounded to so many significant digits.
double round_to_digits(double value, int digits);

/// Shortest decimal text that parses to the same double (`0.1`, `1e-05`).
std::string shortest_repr(double value);

/// Formats bytes as `12.3 MiB`.
std::string format_bytes(double bytes);

/// Formats seconds as `3 s`, `2 min 05 s`, `1 h 02 min`.
std::string format_duration(double seconds);

/// Makes text from an untrusted file printable for a message: invalid UTF-8 replaced, control
/// characters as `?`, truncated after 60 bytes.
std::string printable(std::string_view text);

/// The same, quoted: `'text'`.
std::string quoted_text(std::string_view text);

/// Quotes the first twelve names: `'a', 'b'`.
std::string quoted_text(const std::vector<std::string>& names);

/// Returns the candidate that the user most likely meant by `word`, by edit distance (insertions,
/// deletions, substitutions, transpositions; case-insensitive); empty if none is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// Formats a table as lines: columns two spaces apart, the first left-aligned, the others
/// right-aligned.
std::string format_columns(const std::vector<std::vector<std::string>>& rows);

/// Decodes base64 text (RFC 4648, section 4); nullopt if it is invalid.
std::optional<std::string> from_base64(std::string_view text);
/// Encodes bytes, with padding.
std::string to_base64(std::string_view bytes);

}  // namespace weft
