#include "formats/table_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/codepoints.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "formats/byte_source.h"
#include "formats/row_reader.h"

namespace weft::formats {

namespace {

struct Ending {
  std::string_view name;
  TableKind kind;
};

constexpr std::array kEndings = {
    Ending{".csv", TableKind::kCsv},     Ending{".tsv", TableKind::kTsv},
    Ending{".jsonl", TableKind::kJsonl}, Ending{".ndjson", TableKind::kJsonl},
    Ending{".json", TableKind::kJsonl},  Ending{".parquet", TableKind::kParquet},
};

std::unique_ptr<RowReader> open_rows(const std::string& path,
                                     TableKind kind,
                                     const TableOptions& options) {
  switch (kind) {
    case TableKind::kCsv:
      return make_csv_reader(path, options);
    case TableKind::kTsv:
      return make_tsv_reader(path, options);
    case TableKind::kJsonl:
      return make_json_reader(path);
    case TableKind::kParquet:
      return make_parquet_reader(path);
  }
  throw Error(path + ": unknown table format");
}

/// `there is no column 'labl', did you mean 'label'? Columns: text, label`
std::string missing_column(const std::string& column, const std::vector<std::string>& columns) {
  const auto near = did_you_mean(column, columns);
  return str_cat("no column ", quoted_text(column),
                 near.empty() ? "" : ", did you mean " + quoted_text(near) + "?",
                 near.empty() ? ", the columns are " : " The columns are ", quoted_text(columns));
}

std::vector<std::string> resolved(std::vector<std::string> names,
                                  const std::vector<std::string>& columns) {
  for (auto& name : names) {
    name = find_column(name, columns).value_or(name);
  }
  return names;
}

}  // namespace

std::optional<TableKind> table_kind(std::string_view path) {
  const auto uncompressed = without_compression(path);
  for (const auto& ending : kEndings) {
    // Parquet compresses its own pages and cannot be read as a stream.
    if ((ending.kind == TableKind::kParquet ? path : uncompressed).ends_with(ending.name)) {
      return ending.kind;
    }
  }
  return std::nullopt;
}

struct TableReader::State {
  std::unique_ptr<RowReader> rows;
  double size = 0;  // of the file in bytes
  std::vector<std::string> remarks;
};

TableReader::TableReader(const std::string& path,
                         TableKind kind,
                         const std::vector<std::string>& columns,
                         const TableOptions& options)
    : state_(std::make_unique<State>()) {
  state_->rows = open_rows(path, kind, options);
  std::error_code unknown;  // of a pipe
  const auto size = std::filesystem::file_size(path, unknown);
  state_->size = unknown ? 0 : static_cast<double>(size);
  if (auto remark = state_->rows->remark(); !remark.empty()) {
    state_->remarks.push_back(std::move(remark));
  }
  const auto& there = state_->rows->columns();
  if (kind == TableKind::kJsonl && there.empty()) {
    return;  // no rows, hence no column names
  }
  for (const auto& column : columns) {
    const auto found = require_column(column, there, state_->rows->location());
    if (found != column) {
      state_->remarks.push_back(
          str_cat("column ", quoted_text(found), " is read as ", quoted_text(column)));
    }
  }
  state_->rows->select_columns(resolved(columns, there));
  state_->rows->allow_lists(resolved(options.lists, there));
}

TableReader::~TableReader() = default;

bool TableReader::next(std::vector<std::optional<std::string>>& fields) {
  return state_->rows->next(fields);
}

std::string TableReader::location() const { return state_->rows->location(); }

std::string& TableReader::require(std::optional<std::string>& field,
                                  std::string_view column) const {
  if (!field) {
    throw Error(str_cat(location(), ": no field `", column, "`, every row must have it"));
  }
  return *field;
}

int64_t TableReader::consumed() const { return state_->rows->consumed(); }

double TableReader::fraction_read() const {
  return state_->size > 0 ? static_cast<double>(consumed()) / state_->size : -1;
}

int64_t TableReader::blank_lines() const { return state_->rows->blank_lines(); }

const std::vector<std::string>& TableReader::remarks() const { return state_->remarks; }

std::vector<std::string> read_column_names(const std::string& path,
                                           TableKind kind,
                                           const TableOptions& options) {
  return open_rows(path, kind, options)->columns();
}

std::vector<std::pair<std::string, std::string>> unreadable_columns(const std::string& path,
                                                                    TableKind kind) {
  return open_rows(path, kind, {})->unreadable_columns();
}

std::optional<std::string> first_column(const std::vector<std::string>& names,
                                        const std::vector<std::string>& columns) {
  const auto found = std::ranges::find_if(
      names, [&](const std::string& name) { return find_column(name, columns).has_value(); });
  return found == names.end() ? std::nullopt : std::optional(*found);
}

std::string require_column(std::string_view name,
                           const std::vector<std::string>& columns,
                           const std::string& location) {
  auto found = find_column(name, columns);
  if (!found) {
    throw Error(str_cat(location, ": ", missing_column(std::string(name), columns)));
  }
  if (std::count(columns.begin(), columns.end(), *found) > 1) {
    throw Error(str_cat(location, ": two columns have the name ", quoted_text(name)));
  }
  return *std::move(found);
}

std::optional<std::string> find_column(std::string_view name,
                                       const std::vector<std::string>& columns) {
  if (std::find(columns.begin(), columns.end(), name) != columns.end()) {
    return std::string(name);
  }
  const auto simplified = [](std::string_view text) {
    return python_lower(utf8::decode(utf8::replace_invalid(trim(text))));
  };
  const auto is_similar = [&, wanted = simplified(name)](const std::string& column) {
    return simplified(column) == wanted;
  };
  const auto similar = std::find_if(columns.begin(), columns.end(), is_similar);
  if (similar != columns.end()) {
    const bool is_unique = std::none_of(similar + 1, columns.end(), is_similar);
    return is_unique ? std::optional(*similar) : std::nullopt;
  }
  std::size_t number = 0;
  const auto end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
  return is_number && number >= 1 && number <= columns.size() ? std::optional(columns[number - 1])
                                                              : std::nullopt;
}

}  // namespace weft::formats
