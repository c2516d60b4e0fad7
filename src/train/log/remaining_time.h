#pragma once

#include <cstdint>
#include <optional>

#include "config/duration.h"
#include "train/step/training_progress.h"

namespace weft::train {

/// Expected time until the end of a run: from the time of its training steps, plus that of the
/// evaluations still to come. Times of evaluations and checkpoints are not counted as steps.
class RemainingTime {
 public:
  /// `begin`: progress at which this process began. `evaluate_every`: nullopt without evaluation.
  RemainingTime(const TrainingProgress& begin,
                const config::Duration& duration,
                const std::optional<config::Duration>& evaluate_every);

  void add_step(double seconds) { step_seconds_ += seconds; }
  void add_evaluation(const TrainingProgress& at, double seconds);

  /// Seconds until the end; infinity before the first step. Evaluations count once the first one
  /// was measured. A duration in units of time includes everything.
  double seconds(const TrainingProgress& now) const;

 private:
  double evaluations_to_come(const TrainingProgress& now) const;

  config::Duration duration_;
  std::optional<config::Duration> evaluate_every_;
  double fraction_at_begin_;
  TrainingProgress evaluated_;  // at the last evaluation
  double step_seconds_ = 0;
  double evaluation_seconds_ = 0;
  int64_t evaluations_ = 0;  // measured
};

/// Completed fraction of the duration, at most 1.
double completed_fraction(const TrainingProgress& progress, const config::Duration& duration);

}  // namespace weft::train
