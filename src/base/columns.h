#pragma once

#include <string>
#include <vector>

namespace weft {

/// Rows of a table as lines: columns two spaces apart, the first to the left, the others to the
/// right.
std::string in_columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace weft
