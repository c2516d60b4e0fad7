#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::cli {

/// What a task gave: ScoreFigures' figures by name, each followed by its standard error.
struct TaskFigures {
  std::string task;
  std::vector<std::pair<std::string, double>> figures;
};

/// A row for each task, a column for each figure that one of them has, as `0.5520 +- 0.0222` with
/// the standard error; `-` where a task has none.
std::string score_table(const std::vector<TaskFigures>& tasks);

}  // namespace weft::cli
