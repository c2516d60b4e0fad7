#include "train/optimizer/schedule_registry.h"

#include <utility>
#include <vector>

#include "train/optimizer/schedules/schedules.h"

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

}  // namespace weft::train
