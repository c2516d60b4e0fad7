#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::cli {

/// Results of a task: ScoreMetrics' metrics by name, each followed by its standard error.
struct TaskMetrics {
  std::string task;
  std::vector<std::pair<std::string, double>> metrics;
};

/// A row per task, a column per metric that any task has, as `0.5520 +- 0.0222` with the standard
/// error; `-` if a task has none.
std::string score_table(const std::vector<TaskMetrics>& tasks);

}  // namespace weft::cli
