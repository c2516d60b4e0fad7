#pragma once

#include <memory>
#include <optional>

#include "train/optimizer/train_options.h"
#include "train/step/training_progress.h"

namespace weft::train {

/// Span of a run that a schedule covers, in one unit: warmup ends at `warmup`, the run at `total`.
struct ScheduleSpan {
  double warmup = 0;
  double total = 0;
};

/// Learning rate after warmup, as a fraction of the full rate. A pure function; the values match
/// transformers.get_scheduler.
class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual double factor(double at, const ScheduleSpan& span) const = 0;
  /// Whether the shape depends on the number of steps, independent of the length of the run.
  virtual bool counts_steps() const { return false; }
};

std::unique_ptr<Schedule> make_schedule(const ScheduleOptions& options);

/// Learning rate of each step: linear warmup, then the schedule. Warmup and run may be given in
/// different units; the point where warmup ended is then recorded as part of the training state.
class LearningRate {
 public:
  LearningRate(const ScheduleOptions& options, const config::Duration& duration, double lr);

  /// Returns the learning rate of the step that begins at `progress`.
  double at(const TrainingProgress& progress);

  std::optional<double> warmup_end() const { return warmup_end_; }
  void set_warmup_end(std::optional<double> at) { warmup_end_ = at; }

 private:
  std::unique_ptr<Schedule> schedule_;
  config::Duration warmup_;
  config::Duration duration_;
  config::DurationUnit unit_;  // of the schedule
  double lr_;
  std::optional<double> warmup_end_;  // in unit_
};

}  // namespace weft::train
