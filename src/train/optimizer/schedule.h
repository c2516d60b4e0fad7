#pragma once

#include <any>
#include <optional>

#include "config/duration.h"
#include "train/optimizer/schedule_definition.h"
#include "train/optimizer/schedule_options.h"
#include "train/step/training_progress.h"

namespace weft::train {

/// Learning rate of each step: linear warmup, then the schedule. Warmup and run may be given in
/// different units; the point where warmup ended is then recorded as part of the training state.
class LearningRate {
 public:
  /// Throws std::invalid_argument for an unknown schedule.
  LearningRate(const ScheduleOptions& options, const config::Duration& duration, double lr);

  /// Returns the learning rate of the step that begins at `progress`.
  double at(const TrainingProgress& progress);

  std::optional<double> warmup_end() const { return warmup_end_; }
  void set_warmup_end(std::optional<double> at) { warmup_end_ = at; }

 private:
  ScheduleDefinition schedule_;
  std::any schedule_options_;
  config::Duration warmup_;
  config::Duration duration_;
  config::DurationUnit unit_;  // of the schedule
  double lr_;
  std::optional<double> warmup_end_;  // in unit_
};

}  // namespace weft::train
