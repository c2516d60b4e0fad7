#pragma once

#include <any>
#include <functional>
#include <string>

#include "config/duration.h"
#include "config/section.h"

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

/// A schedule: a file of schedules/ and a line of the table in schedule_registry.cpp.
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

}  // namespace weft::train
