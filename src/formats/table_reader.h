#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/error.h"

namespace weft::formats {

enum class TableKind { kCsv, kTsv, kJsonl, kParquet };

/// Returns the table format by extension (`.csv`, `.tsv`, `.jsonl`, `.ndjson`, `.json`, each also
/// with `.gz` or `.zst`, and `.parquet`); nullopt for other names.
std::optional<TableKind> table_kind(std::string_view path);

/// What the name of a CSV or TSV file does not say.
struct TableOptions {
  // Between the fields of a CSV file. nullopt: as a first line `sep=;` says (Excel writes it), else
  // a comma, or if the first line has none, its most frequent of semicolon, tab and `|`.
  std::optional<char> delimiter = std::nullopt;
  // Whether the first line has the names of the columns. Without it they are called 1, 2, ...
  bool has_header = true;
  // Requested columns that may contain a list of strings and numbers in a JSONL or Parquet file,
  // returned as a JSON list of strings.
  std::vector<std::string> lists = {};
};

/// Streams the rows of a CSV (RFC 4180: quotes, doubled quotes, line feeds inside quotes), TSV (no
/// quoting), JSONL or Parquet file.
class TableReader {
 public:
  /// `columns`: requested columns (see find_column), in the order in which `next` returns them.
  /// Throws Error for a missing one, with the most similar name and all names.
  TableReader(const std::string& path,
              TableKind kind,
              const std::vector<std::string>& columns,
              const TableOptions& options = {});
  ~TableReader();

  /// Reads the requested fields of the next row; false at the end. Numbers, booleans and strings of
  /// JSON and Parquet are returned as text, null and absent fields as nullopt. Throws Error with
  /// `path:line` for rows with a wrong number of fields, unclosed quotes, or lines that are not a
  /// JSON object, with `path, row N` for damaged Parquet data.
  bool next(std::vector<std::optional<std::string>>& fields);
  std::string location() const;
  /// The value of a field that `next` has read. Throws Error for null: `location: no field `text`,
  /// every row must have it`.
  std::string& require(std::optional<std::string>& field, std::string_view column) const;
  /// Bytes of the file consumed so far (compressed bytes for gz, of Parquet a share by rows).
  int64_t consumed() const;
  /// The part of the file consumed so far, 0 to 1; negative: unknown.
  double fraction_read() const;
  /// Blank lines skipped so far; they are not rows, as in other readers of these formats.
  int64_t blank_lines() const;
  /// What was inferred: `fields are separated by ';'`, `column 'Text' is read as 'text'`.
  const std::vector<std::string>& remarks() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads the column names: the header of a CSV or TSV file, the keys of the first object of a JSONL
/// file, the schema of a Parquet file. Throws Error.
std::vector<std::string> read_column_names(const std::string& path,
                                           TableKind kind,
                                           const TableOptions& options = {});

/// Columns that a TableReader cannot read, each with its error: those of Parquet whose types are
/// not supported. Throws Error.
std::vector<std::pair<std::string, std::string>> unreadable_columns(const std::string& path,
                                                                    TableKind kind);

/// The column that is meant by a name: that of this name, else the only one that differs in case
/// and surrounding spaces, else the n-th for a number n. nullopt: none.
std::optional<std::string> find_column(std::string_view name,
                                       const std::vector<std::string>& columns);

/// The first of these names that means a column, as it is written in `names`; nullopt: none does.
std::optional<std::string> first_column(const std::vector<std::string>& names,
                                        const std::vector<std::string>& columns);

/// find_column. Throws Error if there is none, or two of that name: `location: no column 'labl',
/// did you mean 'label'? The columns are ...`.
std::string require_column(std::string_view name,
                           const std::vector<std::string>& columns,
                           const std::string& location);

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
