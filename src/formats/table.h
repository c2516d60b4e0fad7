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

/// By the name's ending (`.csv`, `.tsv`, `.jsonl`, `.ndjson`, `.json`, each also `.gz`); nothing
/// for other names.
std::optional<TableKind> table_kind(std::string_view path);

/// Rows of a CSV (RFC 4180: quotes, doubled quotes, line feeds inside quotes), TSV (no quoting at
/// all) or JSONL file, streamed. CSV and TSV begin with a header line that names the columns.
class TableReader {
 public:
  /// `columns`: the ones wanted, in the order in which `next` gives them. Throws Error where one is
  /// missing, with the nearest and all that there are. `lists`: those of the columns that may hold
  /// a list of texts and numbers in a JSONL file; it comes as a JSON list of texts.
  TableReader(const std::string& path,
              TableKind kind,
              std::vector<std::string> columns,
              const std::vector<std::string>& lists = {});
  ~TableReader();

  /// The wanted fields of the next row; false at the end. JSON numbers, booleans and strings come
  /// as text; null and absent fields as nothing. Throws Error with `path:line` for rows of another
  /// width, open quotes, lines that are no JSON object.
  bool next(std::vector<std::optional<std::string>>& fields);
  std::string place() const;
  /// Bytes of the file consumed so far (packed bytes for gz).
  int64_t consumed() const;
  /// Blank lines passed over so far: they are no rows, as other readers of such files have it too.
  int64_t blank_lines() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Names of the columns: the header of a CSV or TSV file, the keys of the first object of a JSONL
/// file. Throws Error.
std::vector<std::string> columns_of(const std::string& path, TableKind kind);

}  // namespace weft::formats
