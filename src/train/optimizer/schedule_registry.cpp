#include "train/optimizer/schedule_registry.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace weft::train {

namespace {

std::vector<ScheduleDefinition> built_in_schedules() {
  return {
      constant(),
      linear(),
      cosine(),
      cosine_with_restarts(),
      polynomial(),
      inverse_sqrt(),
      warmup_stable_decay(),
  };
}

VariantRegistry<ScheduleDefinition>& mutable_schedule_registry() {
  static VariantRegistry<ScheduleDefinition> registry("schedule", built_in_schedules());
  return registry;
}

}  // namespace

const VariantRegistry<ScheduleDefinition>& schedule_registry() {
  return mutable_schedule_registry();
}

void register_schedule(ScheduleDefinition definition) {
  mutable_schedule_registry().add(std::move(definition));
}

void read_min_lr_ratio(config::Section& section, double& min_lr_ratio) {
  section.read("min_lr_ratio", min_lr_ratio,
               {.help = "Minimum learning rate at the end of the decay, as a fraction of lr.",
                .range = config::between(0, 1)});
}

double decay_progress(double at, const ScheduleSpan& span) {
  return std::clamp((at - span.warmup) / std::max(span.total - span.warmup, 1e-12), 0.0, 1.0);
}

double half_cosine(double progress) { return 0.5 * (1.0 + std::cos(std::numbers::pi * progress)); }

double raised(double factor, double min_lr_ratio) {
  return (1.0 - min_lr_ratio) * factor + min_lr_ratio;
}

}  // namespace weft::train
