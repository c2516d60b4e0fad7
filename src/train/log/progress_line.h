#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "train/step/training_progress.h"

namespace weft::train {

/// Values shown on the progress line.
struct ProgressMetrics {
  double loss = 0;
  double learning_rate = 0;
  double tokens_per_second = 0;
};

/// Status line of a run: step, loss, learning rate, tokens per second, time left. On a terminal it
/// is updated in place; elsewhere it is a plain log line, every few seconds at most.
class ProgressLine {
 public:
  ProgressLine(const TrainingProgress& begin, const config::Duration& duration);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Updates the line after a step.
  void show(const TrainingProgress& progress, const ProgressMetrics& metrics);
  /// Writes a plain line after the metrics went to metrics.jsonl, unless one was written just
  /// before. `is_last`: in any case.
  void write_line(const TrainingProgress& progress, const ProgressMetrics& metrics, bool is_last);

 private:
  using Time = std::chrono::steady_clock::time_point;
  std::string line(const TrainingProgress& progress, const ProgressMetrics& metrics) const;

  double share_at_begin_;
  config::Duration duration_;
  Time begin_;
  Time last_status_time_{};
  Time last_line_time_{};
};

}  // namespace weft::train
