#include "train/optimizer/schedule_registry.h"

namespace weft::train {

namespace {

struct LinearOptions {
  double min_lr_ratio = 0;
};

void read_linear(config::Section& section,
                 LinearOptions& options,
                 const ScheduleLimits& /*limits*/) {
  read_min_lr_ratio(section, options.min_lr_ratio);
}

double linear_factor(const LinearOptions& options, double at, const ScheduleSpan& span) {
  return raised(1.0 - decay_progress(at, span), options.min_lr_ratio);
}

}  // namespace

ScheduleDefinition linear() {
  return define_schedule({.name = "linear"}, read_linear, linear_factor);
}

}  // namespace weft::train
