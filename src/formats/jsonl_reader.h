#pragma once

#include <memory>
#include <string>

#include "formats/row_reader.h"

namespace weft::formats {

/// One JSON object per line; the columns are the keys of the first. Empty lines are skipped.
std::unique_ptr<RowReader> make_json_reader(const std::string& path);

}  // namespace weft::formats
