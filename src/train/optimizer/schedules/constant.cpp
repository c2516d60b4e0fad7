#include "train/optimizer/schedule_registry.h"

namespace weft::train {

ScheduleDefinition constant() {
  return {.name = "constant",
          .counts_steps = true,
          .factor = [](const std::any& /*options*/, double /*at*/, const ScheduleSpan& /*span*/) {
            return 1.0;
          }};
}

}  // namespace weft::train
