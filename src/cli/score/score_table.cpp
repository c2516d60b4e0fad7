#include <algorithm>
#include <cmath>
#include <iomanip>
#include <optional>

#include "base/string_util.h"
#include "cli/score/score.h"

namespace weft::cli {

namespace {

constexpr std::string_view kItems = "items";
constexpr std::string_view kError = "_stderr";

std::optional<double> metric_of(const TaskMetrics& task, const std::string& name) {
  for (const auto& [found, value] : task.metrics) {
    if (found == name) {
      return value;
    }
  }
  return std::nullopt;
}

/// Names of the metric columns, in order of first appearance in the tasks.
std::vector<std::string> metric_names(const std::vector<TaskMetrics>& tasks) {
  std::vector<std::string> names;
  for (const auto& task : tasks) {
    for (const auto& [name, value] : task.metrics) {
      const bool is_column = name != kItems && !name.ends_with(kError);
      if (is_column && std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

std::string number(double value) {
  return std::abs(value) < 1e4 ? str_cat(std::fixed, std::setprecision(4), value)
                               : str_cat(std::scientific, std::setprecision(3), value);
}

}  // namespace

formats::Json score_json_of(const TaskMetrics& metrics) {
  auto json = formats::Json::object();
  if (!metrics.task.empty()) {
    json["task"] = metrics.task;
  }
  for (const auto& [name, value] : metrics.metrics) {
    if (name == kItems) {
      json[name] = static_cast<int64_t>(value);
    } else {
      json[name] = value;
    }
  }
  return json;
}

std::string score_table(const std::vector<TaskMetrics>& tasks) {
  const auto names = metric_names(tasks);
  std::vector<std::vector<std::string>> rows{{"task", std::string(kItems)}};
  rows[0].insert(rows[0].end(), names.begin(), names.end());
  for (const auto& task : tasks) {
    const auto items = metric_of(task, std::string(kItems)).value_or(0);
    rows.push_back({task.task, std::to_string(static_cast<int64_t>(items))});
    for (const auto& name : names) {
      const auto value = metric_of(task, name);
      const auto error = metric_of(task, name + std::string(kError));
      rows.back().push_back(value ? number(*value) + (error ? " +- " + number(*error) : "") : "-");
    }
  }
  return format_columns(rows);
}

}  // namespace weft::cli
