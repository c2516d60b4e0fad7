#pragma once

#include <string>
#include <vector>

namespace weft {

/// Formats a table as lines: columns two spaces apart, the first left-aligned, the others
/// right-aligned.
std::string format_columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace weft
