#pragma once

#include <string>

namespace weft::fuzz {

/// Reads a table in each way that Weft does: all columns, as running text, as labelled rows of each
/// form, as tagged words.
void read_table(const std::string& path);

}  // namespace weft::fuzz
