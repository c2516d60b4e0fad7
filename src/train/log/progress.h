#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "train/step/clock.h"

namespace weft::train {

/// What the progress line shows.
struct ProgressFigures {
  double loss = 0;
  double learning_rate = 0;
  double tokens_per_second = 0;
};

/// One line about a run: step, loss, rate, tokens a second, time left. On a terminal it stays in
/// its place; elsewhere it is a plain line of the log, every few seconds at most.
class Progress {
 public:
  Progress(const Clock& begin, const config::Duration& duration);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// After a step.
  void show(const Clock& clock, const ProgressFigures& figures);
  /// After the figures went to metrics.jsonl: a plain line, unless there was one just before.
  /// `is_last`: in any case.
  void note(const Clock& clock, const ProgressFigures& figures, bool is_last);

 private:
  using Time = std::chrono::steady_clock::time_point;
  std::string line(const Clock& clock, const ProgressFigures& figures) const;

  double share_at_begin_;
  config::Duration duration_;
  Time begin_;
  Time shown_{};
  Time noted_{};
};

}  // namespace weft::train
