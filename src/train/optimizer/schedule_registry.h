#pragma once

#include "train/optimizer/schedule_definition.h"
#include "train/optimizer/variant_registry.h"

namespace weft::train {

/// All schedules.
const VariantRegistry<ScheduleDefinition>& schedule_registry();

/// Adds a schedule of the program's own, before the first config is read. Throws
/// std::invalid_argument if the name is taken.
void register_schedule(ScheduleDefinition definition);

}  // namespace weft::train
