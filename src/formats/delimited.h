#pragma once

#include <memory>
#include <string>

#include "formats/row_reader.h"

namespace weft::formats {

/// RFC 4180: comma-separated fields; a quoted field ends at the next undoubled quote and may
/// contain commas, line feeds and doubled quotes. Empty lines are skipped.
std::unique_ptr<RowReader> make_csv_reader(const std::string& path);

/// Tab-separated fields; quotes have no special meaning. Empty lines are skipped.
std::unique_ptr<RowReader> make_tsv_reader(const std::string& path);

}  // namespace weft::formats
