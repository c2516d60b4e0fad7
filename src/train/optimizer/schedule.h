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

/// Where the warm-up of a run ended.
struct WarmupEnd {
  double progress = 0;  // in the unit of the schedule
  std::string config;   // warm-up and unit of the schedule for which it holds

  bool operator==(const WarmupEnd&) const = default;
};

/// Learning rate of each step: linear warm-up, then the schedule. Warm-up and run may be given in
/// different units; the point where the warm-up ended is then recorded as part of the training
/// state.
class LearningRate {
 public:
  /// Throws std::invalid_argument for an unknown schedule.
  LearningRate(const ScheduleOptions& options, const config::Duration& duration, double lr);

  /// Returns the learning rate of the step that begins at `progress`.
  double at(const TrainingProgress& progress);

  /// Nullopt before the end of the warm-up, and where the config says when it ends.
  const std::optional<WarmupEnd>& warmup_end() const { return warmup_end_; }
  /// That of an earlier process; ignored if warm-up or unit have changed since.
  void set_warmup_end(const std::optional<WarmupEnd>& end);

 private:
  double progress_at_warmup_end(const TrainingProgress& progress);

  ScheduleDefinition schedule_;
  std::any schedule_options_;
  config::Duration warmup_;
  config::Duration duration_;
  config::DurationUnit unit_;  // of the schedule
  double lr_;
  std::string warmup_config_;  // see WarmupEnd
  std::optional<WarmupEnd> warmup_end_;
};

}  // namespace weft::train
