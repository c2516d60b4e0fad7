#pragma once

#include <chrono>
#include <string>

#include "train/log/remaining_time.h"
#include "train/step/training_progress.h"

namespace weft::train {

/// Values shown on the progress line.
struct ProgressMetrics {
  double loss = 0;
  double learning_rate = 0;
  double tokens_per_second = 0;
};

/// `epoch 1.25`.
std::string epoch_text(double epochs);

/// Text of a progress line: step and epoch (of the run's number, if known), loss, learning rate,
/// tokens per second, and the remaining time `eta` in seconds.
std::string progress_text(const TrainingProgress& progress,
                          const ProgressMetrics& metrics,
                          const config::Duration& duration,
                          double eta);

/// Progress of a run: on a terminal, a status line that is updated in place; log lines for the
/// first step of this process and whenever metrics are logged.
class ProgressLine {
 public:
  ProgressLine(const config::Duration& duration, const RemainingTime& remaining);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void add_step(double seconds) { remaining_.add_step(seconds); }
  void add_evaluation(const TrainingProgress& at, double seconds) {
    remaining_.add_evaluation(at, seconds);
  }
  /// Updates the status line after a step; writes a log line if there is none yet.
  void show(const TrainingProgress& progress, const ProgressMetrics& metrics);
  /// Writes a log line.
  void write_line(const TrainingProgress& progress, const ProgressMetrics& metrics);

 private:
  std::string line(const TrainingProgress& progress, const ProgressMetrics& metrics) const;

  config::Duration duration_;
  RemainingTime remaining_;
  std::chrono::steady_clock::time_point last_status_time_{};
  bool has_written_ = false;
};

}  // namespace weft::train
