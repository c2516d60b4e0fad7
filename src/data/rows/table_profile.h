#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "formats/table_reader.h"

namespace weft::data {

/// What the rows of a table have in one column.
struct ColumnProfile {
  static constexpr std::size_t kMaxDistinct = 1000;

  std::string name;
  int64_t filled = 0;                     // rows with a value that is not blank
  int64_t numbers = 0;                    // of those, the ones whose value is a number
  std::map<std::string, int64_t> values;  // rows per value, of the first kMaxDistinct distinct ones
  bool has_more_values = false;           // there are more distinct values
  std::vector<int64_t> words;             // words of each filled row, ascending

  bool is_numeric() const { return filled > 0 && numbers == filled; }
  double mean_words() const;
};

/// Number of rows and columns of a table.
struct TableProfile {
  formats::TableKind kind = formats::TableKind::kCsv;
  formats::TableOptions options;     // has_header as inferred
  std::vector<std::string> remarks;  // what else was inferred about the format
  std::vector<ColumnProfile> columns;
  int64_t rows = 0;
  bool is_complete = true;  // false: there are more rows than were read
};

/// Reads the first `max_rows` rows. A csv or tsv file has no header if a value of its first line
/// occurs again in a column of few values, as a class does and a name does not, or if the line has
/// a value twice. Throws data::Error, formats::Error.
TableProfile profile_table(const std::string& path, int64_t max_rows);

}  // namespace weft::data
