#pragma once

#include <any>
#include <optional>
#include <string>

#include "config/duration.h"
#include "config/section.h"
#include "train/optimizer/schedule_registry.h"
#include "train/step/training_progress.h"

namespace weft::train {

/// `train.schedule:`
struct ScheduleOptions {
  std::string type = "linear";   // a name of the schedule registry
  std::any own = {};             // options struct of the type; empty: its defaults
  config::Duration warmup = {};  // from 0 to the full rate
};

/// Reads `train.schedule:` of a run of this duration; `warmup` is the default of that key. Throws
/// config::Error.
ScheduleOptions read_schedule_options(config::Section section,
                                      const config::Duration& duration,
                                      config::RelativeDuration warmup = {});

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
