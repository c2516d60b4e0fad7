#include "data/rows/table_profile.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/string_util.h"
#include "data/error.h"
#include "data/labels.h"

namespace weft::data {
namespace {

int64_t count_words(std::string_view text) {
  int64_t words = 0;
  bool is_inside = false;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    words += !is_space && !is_inside ? 1 : 0;
    is_inside = !is_space;
  }
  return words;
}

void add_value(ColumnProfile& column, std::string_view value) {
  ++column.filled;
  column.numbers += parse_number(value) ? 1 : 0;
  column.words.push_back(count_words(value));
  const auto known = column.values.find(std::string(value));
  if (known != column.values.end()) {
    ++known->second;
  } else if (column.values.size() < ColumnProfile::kMaxDistinct) {
    column.values.emplace(value, 1);
  } else {
    column.has_more_values = true;
  }
}

TableProfile read_profile(const std::string& path,
                          formats::TableKind kind,
                          const formats::TableOptions& options,
                          int64_t max_rows) {
  TableProfile profile;
  profile.kind = kind;
  profile.options = options;
  const auto names = formats::read_column_names(path, kind, options);
  for (const auto& name : names) {
    profile.columns.emplace_back().name = name;
  }
  auto reading = options;
  reading.lists = names;
  formats::TableReader reader(path, kind, names, reading);
  profile.remarks = reader.remarks();
  for (std::vector<std::optional<std::string>> fields; reader.next(fields);) {
    if (profile.rows == max_rows) {
      profile.is_complete = false;
      break;
    }
    ++profile.rows;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i] && !trim(*fields[i]).empty()) {
        add_value(profile.columns[i], trim(*fields[i]));
      }
    }
  }
  for (auto& column : profile.columns) {
    std::sort(column.words.begin(), column.words.end());
  }
  return profile;
}

/// Whether the name of a column is also one of its few distinct values.
bool names_a_class(const ColumnProfile& column) {
  const auto found = column.values.find(std::string(trim(column.name)));
  const auto few = std::max<int64_t>(2, column.filled / 2);
  return found != column.values.end() && !column.has_more_values &&
         static_cast<int64_t>(column.values.size()) <= few;
}

}  // namespace

double ColumnProfile::mean_words() const {
  const auto all = std::accumulate(words.begin(), words.end(), int64_t{0});
  return words.empty() ? 0 : static_cast<double>(all) / static_cast<double>(words.size());
}

TableProfile profile_table(const std::string& path, int64_t max_rows) {
  const auto kind = formats::table_kind(path);
  if (!kind) {
    throw Error(path + ": not a table, must be a .csv, .tsv, .jsonl or .parquet file");
  }
  const formats::TableOptions no_header = {.has_header = false};
  const bool may_lack_header =
      *kind == formats::TableKind::kCsv || *kind == formats::TableKind::kTsv;
  auto names = formats::read_column_names(path, *kind);
  std::sort(names.begin(), names.end());
  if (may_lack_header && std::adjacent_find(names.begin(), names.end()) != names.end()) {
    return read_profile(path, *kind, no_header, max_rows);
  }
  auto profile = read_profile(path, *kind, {}, max_rows);
  if (may_lack_header && std::ranges::any_of(profile.columns, names_a_class)) {
    return read_profile(path, *kind, no_header, max_rows);
  }
  return profile;
}

}  // namespace weft::data
