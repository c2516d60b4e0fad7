#include <cmath>
#include <string>
#include <vector>

#include "base/string_util.h"
#include "cli/predict/evaluate.h"

namespace weft::cli {

namespace {

using formats::Json;
using Rows = std::vector<std::vector<std::string>>;

constexpr int kShownDigits = 4;         // of metrics; more are noise of the sample
constexpr std::size_t kMaxMatrix = 20;  // classes; a larger matrix does not fit a terminal

std::string shown(const Json& value) {
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    return std::isnan(number) ? "undefined" : shortest_repr(round_to_digits(number, kShownDigits));
  }
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string metric_rows(const Json& report, const std::string& selected_by) {
  Rows rows;
  for (const auto& [name, value] : report.items()) {
    if (!name.starts_with("eval_")) {
      continue;
    }
    rows.insert(name == selected_by ? rows.begin() : rows.end(), {name, shown(value)});
  }
  auto text = format_columns(rows);
  if (report.contains("undefined")) {
    for (const auto& [name, reason] : report["undefined"].items()) {
      text += str_cat(name, " is undefined: ", shown(reason), "\n");
    }
  }
  return text;
}

std::string class_rows(const Json& classes) {
  Rows rows = {{"class"}};
  for (const auto& [name, scores] : classes.items()) {
    rows.push_back({name});
    for (const auto& [score, value] : scores.items()) {
      if (rows.size() == 2) {
        rows[0].push_back(score);
      }
      rows.back().push_back(shown(value));
    }
  }
  return format_columns(rows);
}

std::string matrix_rows(const Json& matrix, const Json& labels) {
  Rows rows = {{"label"}};
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const auto name = i < labels.size() ? shown(labels[i]) : str_cat("LABEL_", i);
    rows[0].push_back(name);
    rows.push_back({name});
    for (const auto& count : matrix[i]) {
      rows.back().push_back(count.dump());
    }
  }
  return format_columns(rows);
}

}  // namespace

std::string evaluation_table(const Json& report, const std::string& selected_by) {
  auto text = metric_rows(report, selected_by);
  if (report.contains("per_class")) {
    text += "\n" + class_rows(report["per_class"]);
  }
  // With several labels per text there is one 2 x 2 matrix for each, which repeats the table above.
  if (report.contains("confusion_matrix") && report["confusion_matrix"].is_array() &&
      report["confusion_matrix"].size() <= kMaxMatrix) {
    text += "\nConfusion matrix (rows: labels, columns: predictions)\n" +
            matrix_rows(report["confusion_matrix"], report["labels"]);
  }
  return text;
}

}  // namespace weft::cli
