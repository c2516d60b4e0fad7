#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/table_reader.h"

namespace weft::formats {

/// Reader of one table format, used by TableReader.
class RowReader {
 public:
  virtual ~RowReader() = default;

  /// All columns of the file.
  virtual const std::vector<std::string>& columns() const = 0;
  /// Columns that cannot be selected, each with the error that says why.
  virtual std::vector<std::pair<std::string, std::string>> unreadable_columns() const { return {}; }
  /// Selects existing columns for `next` to return, in this order. Called once, before `next`.
  virtual void select_columns(const std::vector<std::string>& wanted) = 0;
  /// Selects the requested columns that may contain lists (JSON and Parquet).
  virtual void allow_lists(const std::vector<std::string>& /*wanted*/) {}
  virtual bool next(std::vector<std::optional<std::string>>& fields) = 0;
  virtual std::string location() const = 0;
  virtual int64_t consumed() const = 0;
  /// Blank lines skipped so far; they are not rows.
  virtual int64_t blank_lines() const = 0;
  /// What was inferred about the format, if it is unusual: `fields are separated by ';'`.
  virtual std::string remark() const { return {}; }
};

/// One JSON object per line; the columns are the keys of the first. Empty lines are skipped.
std::unique_ptr<RowReader> make_json_reader(const std::string& path);

struct CsvDelimiter {
  char delimiter = ',';
  bool is_declared = false;  // by the line, `sep=;`, which is no row
};

/// Delimiter of a CSV file by its first line, see TableOptions.
CsvDelimiter infer_delimiter(std::string_view first_line);

/// The columns are the leaves of the schema. Null and lists are as in JSON; dates and times are the
/// numbers that are stored. Decimal numbers, lists of lists, and the types INT96 and
/// FIXED_LEN_BYTE_ARRAY are an error if they are selected.
std::unique_ptr<RowReader> make_parquet_reader(const std::string& path);

/// RFC 4180: comma-separated fields; a quoted field ends at the next undoubled quote and may
/// contain commas, line feeds and doubled quotes. Empty lines are skipped. Other delimiters are
/// read too, see TableOptions.
std::unique_ptr<RowReader> make_csv_reader(const std::string& path, const TableOptions& options);

/// Tab-separated fields; quotes have no special meaning. Empty lines are skipped.
std::unique_ptr<RowReader> make_tsv_reader(const std::string& path, const TableOptions& options);

}  // namespace weft::formats
