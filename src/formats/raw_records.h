#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/table_reader.h"

namespace weft::formats {

/// A table as the bytes of its rows, line ends included: what TableReader reads, without changing
/// it.
struct RawRecords {
  std::string header;             // of CSV and TSV files, with a byte-order mark if there is one
  std::vector<std::string> rows;  // without blank lines
};

/// Reads a whole table (compressed files are decompressed). A row without a line end gets one.
/// Throws Error.
RawRecords read_raw_records(const std::string& path,
                            TableKind kind,
                            const TableOptions& options = {});

}  // namespace weft::formats
