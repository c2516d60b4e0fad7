#pragma once

#include <memory>
#include <optional>

#include "train/optimizer/train_options.h"
#include "train/step/clock.h"

namespace weft::train {

/// The stretch of a run that a schedule shapes, in one unit: it has warmed up at `warmup` and ends
/// at `total`.
struct Stretch {
  double warmup = 0;
  double total = 0;
};

/// Course of the learning rate after the warm-up, as a share of the full rate. A pure function; the
/// values are those of transformers.get_scheduler.
class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual double factor(double at, const Stretch& stretch) const = 0;
  /// Whether the shape counts steps, however long the run is.
  virtual bool counts_steps() const { return false; }
};

std::unique_ptr<Schedule> make_schedule(const ScheduleOptions& options);

/// The learning rate of each step: a rise in a straight line, then the schedule. Warm-up and run
/// may be given in different units; the place where the warm-up ended is then noted and belongs to
/// the training state.
class LearningRate {
 public:
  LearningRate(const ScheduleOptions& options, const config::Duration& duration, double lr);

  /// The rate of the step that begins at `clock`.
  double at(const Clock& clock);

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
