#include <algorithm>

#include "base/string_util.h"
#include "formats/json.h"
#include "models/config/family_definition.h"
#include "report/evaluation_json.h"
#include "report/markup.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

using formats::Json;

constexpr int64_t kRows = 50;
constexpr std::size_t kShownText = 300;  // characters

std::string cell_text(const Json& value) {
  if (value.is_string()) {
    return shortened(value.get<std::string>(), kShownText);
  }
  if (value.is_number()) {
    return number_text(value.get<double>(), 5);
  }
  if (value.is_array()) {
    std::vector<std::string> words;
    for (const auto& item : value) {
      words.push_back(cell_text(item));
    }
    return join(words, " ");
  }
  return value.dump();
}

}  // namespace

void add_examples(const ReportInput& input, Page& page) {
  if (!input.loaded || !input.loaded->evaluation ||
      models::reads_images(input.loaded->model->options())) {
    return;
  }
  const auto lines = hardest_examples(*input.loaded->evaluation, kRows);
  if (lines.empty()) {
    return;
  }
  page.add_data("hardest", lines);
  Table table{.caption = "Examples with the largest loss", .columns = {}, .rows = {}};
  std::vector<std::string> keys;
  for (const auto& [key, value] : lines.front().items()) {
    if (key != "is_right" && !value.is_object()) {
      keys.push_back(key);
      table.columns.push_back(key);
    }
  }
  for (const auto& line : lines) {
    std::vector<std::string> row;
    row.reserve(keys.size());
    for (const auto& key : keys) {
      row.push_back(line.contains(key) ? cell_text(line[key]) : "–");
    }
    table.rows.push_back(std::move(row));
  }
  page.add(table);
}

}  // namespace weft::report
