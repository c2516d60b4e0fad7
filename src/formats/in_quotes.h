#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::formats {

/// `'text'` for a message about a file that may be hostile: UTF-8 repaired, control characters
/// replaced by `?`, cut after 60 bytes.
std::string in_quotes(std::string_view word);
/// `'a', 'b'`, the first dozen: names that a file gives to its columns.
std::string in_quotes(const std::vector<std::string>& names);

}  // namespace weft::formats
