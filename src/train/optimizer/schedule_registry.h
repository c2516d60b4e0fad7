#pragma once

#include <any>
#include <functional>
#include <string>

#include "config/duration.h"
#include "config/section.h"
#include "train/optimizer/variant_registry.h"

namespace weft::train {

/// Span of a run that a schedule covers, in one unit: warmup ends at `warmup`, the run at `total`.
struct ScheduleSpan {
  double warmup = 0;
  double total = 0;
};

/// Lengths that a schedule's own keys must suit, as configured.
struct ScheduleLimits {
  config::Duration duration;
  config::Duration warmup;
};

/// A schedule: a file of schedules/, its declaration below, and a line of the
/// table in schedule_registry.cpp.
struct ScheduleDefinition {
  std::string name;  // of train.schedule.type
  /// Whether the shape depends on the number of steps, independent of the length of the run.
  bool counts_steps = false;
  std::any defaults = {};  // its options struct
  /// Reads the keys that are its own into the options struct. May be absent.
  std::function<void(config::Section& section, std::any& options, const ScheduleLimits& limits)>
      read = {};
  /// Learning rate after warmup, as a fraction of the full rate. A pure function.
  std::function<double(const std::any& options, double at, const ScheduleSpan& span)> factor = {};
};

/// Completes a definition that has a name. `Options` holds the options that are its own, with their
/// defaults.
template <class Options>
ScheduleDefinition define_schedule(ScheduleDefinition definition,
                                   void (*read)(config::Section&, Options&, const ScheduleLimits&),
                                   double (*factor)(const Options&,
                                                    double at,
                                                    const ScheduleSpan&)) {
  definition.defaults = Options{};
  definition.read = [read](config::Section& section, std::any& options,
                           const ScheduleLimits& limits) {
    read(section, std::any_cast<Options&>(options), limits);
  };
  definition.factor = [factor](const std::any& options, double at, const ScheduleSpan& span) {
    return factor(std::any_cast<const Options&>(options), at, span);
  };
  return definition;
}

/// All schedules.
const VariantRegistry<ScheduleDefinition>& schedule_registry();

/// Adds a schedule of the program's own, before the first config is read. Throws
/// std::invalid_argument if the name is taken.
void register_schedule(ScheduleDefinition definition);

// Their values match transformers.get_scheduler.
ScheduleDefinition constant();
ScheduleDefinition linear();
ScheduleDefinition cosine();
ScheduleDefinition cosine_with_restarts();
ScheduleDefinition polynomial();
ScheduleDefinition inverse_sqrt();
ScheduleDefinition warmup_stable_decay();

/// Reads the key `min_lr_ratio`, the least rate as a fraction of lr. Throws config::Error.
void read_min_lr_ratio(config::Section& section, double& min_lr_ratio);

/// Fraction of the way from the end of warmup to the end of the run, 0 to 1.
double decay_progress(double at, const ScheduleSpan& span);

/// Falls from 1 to 0 along half a cosine while `progress` goes from 0 to 1.
double half_cosine(double progress);

/// Shrinks a curve that falls from 1 to 0 to one that falls from 1 to `min_lr_ratio`.
double raised(double factor, double min_lr_ratio);

}  // namespace weft::train
