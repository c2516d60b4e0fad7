#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/error.h"

namespace weft::formats {

enum class TableKind { kCsv, kTsv, kJsonl };

/// Returns the table format by extension (`.csv`, `.tsv`, `.jsonl`, `.ndjson`, `.json`, each also
/// with `.gz`); nullopt for other names.
std::optional<TableKind> table_kind(std::string_view path);

/// Throws Error unless the column is there once: `location: no column 'labl', did you mean ...`.
void check_column(const std::string& column,
                  const std::vector<std::string>& columns,
                  const std::string& location);

/// Streams the rows of a CSV (RFC 4180: quotes, doubled quotes, line feeds inside quotes), TSV (no
/// quoting) or JSONL file. CSV and TSV start with a header line of column names.
class TableReader {
 public:
  /// `columns`: requested columns, in the order in which `next` returns them. Throws Error for a
  /// missing one, with the most similar name and all names. `lists`: those of the columns that may
  /// contain a list of strings and numbers in a JSONL file, returned as a JSON list of strings.
  TableReader(const std::string& path,
              TableKind kind,
              std::vector<std::string> columns,
              const std::vector<std::string>& lists = {});
  ~TableReader();

  /// Reads the requested fields of the next row; false at the end. JSON numbers, booleans and
  /// strings are returned as text, null and absent fields as nullopt. Throws Error with `path:line`
  /// for rows with a wrong number of fields, unclosed quotes, or lines that are not a JSON object.
  bool next(std::vector<std::optional<std::string>>& fields);
  std::string location() const;
  /// Bytes of the file consumed so far (compressed bytes for gz).
  int64_t consumed() const;
  /// Blank lines skipped so far; they are not rows, as in other readers of these formats.
  int64_t blank_lines() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads the column names: the header of a CSV or TSV file, the keys of the first object of a JSONL
/// file. Throws Error.
std::vector<std::string> read_column_names(const std::string& path, TableKind kind);

}  // namespace weft::formats
