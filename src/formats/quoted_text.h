#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::formats {

/// Quotes text from an untrusted file for a message: `'text'`, with invalid UTF-8 replaced, control
/// characters replaced by `?`, truncated after 60 bytes.
std::string quoted_text(std::string_view word);
/// Quotes the first twelve column names: `'a', 'b'`.
std::string quoted_text(const std::vector<std::string>& names);

}  // namespace weft::formats
