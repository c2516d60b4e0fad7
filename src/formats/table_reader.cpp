#include "formats/table_reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/string_util.h"
#include "base/utf8.h"
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
    Ending{".json", TableKind::kJsonl},
};

std::unique_ptr<RowReader> open_rows(const std::string& path, TableKind kind) {
  switch (kind) {
    case TableKind::kCsv:
      return make_csv_reader(path);
    case TableKind::kTsv:
      return make_tsv_reader(path);
    case TableKind::kJsonl:
      return make_json_reader(path);
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

}  // namespace

void check_column(const std::string& column,
                  const std::vector<std::string>& columns,
                  const std::string& location) {
  const auto count = std::count(columns.begin(), columns.end(), column);
  if (count != 1) {
    throw Error(str_cat(location, ": ",
                        count == 0 ? missing_column(column, columns)
                                   : "two columns have the name " + quoted_text(column)));
  }
}

std::optional<TableKind> table_kind(std::string_view path) {
  if (path.ends_with(".gz")) {
    path.remove_suffix(3);
  }
  for (const auto& ending : kEndings) {
    if (path.ends_with(ending.name)) {
      return ending.kind;
    }
  }
  return std::nullopt;
}

struct TableReader::State {
  std::unique_ptr<RowReader> rows;
};

TableReader::TableReader(const std::string& path,
                         TableKind kind,
                         std::vector<std::string> columns,
                         const std::vector<std::string>& lists)
    : state_(std::make_unique<State>()) {
  state_->rows = open_rows(path, kind);
  const auto& there = state_->rows->columns();
  if (kind == TableKind::kJsonl && there.empty()) {
    return;  // no rows, hence no column names
  }
  for (const auto& column : columns) {
    check_column(column, there, state_->rows->location());
  }
  state_->rows->select_columns(columns);
  state_->rows->allow_lists(lists);
}

TableReader::~TableReader() = default;

bool TableReader::next(std::vector<std::optional<std::string>>& fields) {
  return state_->rows->next(fields);
}

std::string TableReader::location() const { return state_->rows->location(); }

int64_t TableReader::consumed() const { return state_->rows->consumed(); }

int64_t TableReader::blank_lines() const { return state_->rows->blank_lines(); }

std::vector<std::string> read_column_names(const std::string& path, TableKind kind) {
  return open_rows(path, kind)->columns();
}

}  // namespace weft::formats
