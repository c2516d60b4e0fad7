#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "report/figures/line_chart.h"

namespace weft::report {

/// Values of one metric over a run, in the order of metrics.jsonl.
struct MetricHistory {
  std::vector<int64_t> steps;
  std::vector<double> values;
};

/// What metrics.jsonl and run.json say about the course of a run.
struct RunHistory {
  std::map<std::string, MetricHistory> metrics;  // by tag: `train/loss`, `eval/accuracy`
  std::vector<Mark> events;                      // resumes, skipped steps, spikes, rollbacks
  std::vector<std::string> problems;             // what is missing or damaged

  /// Metrics of the evaluation at this step, else of the last one, named as in `weft evaluate`.
  std::map<std::string, double> evaluation(std::optional<int64_t> step) const;

  /// Training tokens and seconds at the steps: those of the last log line up to each.
  AxisValues axes_at(const std::vector<int64_t>& steps) const;

 private:
  friend class HistoryReader;
  std::vector<int64_t> logged_steps_;  // of the lines with tokens
  std::vector<double> tokens_;
  std::vector<double> seconds_;
};

/// The x axes of charts of histories: step, tokens, training time.
const std::vector<LineChartOptions::Axis>& history_axes();

/// Reads the history of a run directory; `run`: its index in the page. What cannot be read is
/// reported in `problems`.
RunHistory read_history(const std::string& directory, int64_t run);

/// Indices of at most `most` values that show the shape of the whole: the smallest and the largest
/// of each part, and the two ends.
std::vector<std::size_t> shown_points(const std::vector<double>& values, std::size_t most);

/// At most `most` points of a metric, with their place on the axes step, tokens and time.
Series metric_series(const RunHistory& history,
                     const std::string& tag,
                     std::string name,
                     int64_t run,
                     std::size_t most);

}  // namespace weft::report
