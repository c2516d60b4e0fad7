#include "train/optimizer/schedule_options.h"

#include "base/string_util.h"
#include "train/optimizer/schedule_registry.h"

namespace weft::train {

ScheduleOptions read_schedule_options(config::Section section, const config::Duration& duration) {
  ScheduleOptions options;
  schedule_registry().read_type(section, options.type, "Learning rate schedule after the warm-up.");
  section.read("warmup", options.warmup,
               {.help = "Learning rate warm-up: length of the linear increase from zero to lr. `0 "
                        "steps`: no warm-up.",
                .range = config::at_least(0)});
  if (options.warmup.unit == duration.unit && options.warmup.amount > duration.amount) {
    section.fail("warmup", str_cat("the warm-up of ", config::to_string(options.warmup),
                                   " is longer than the run, whose duration is ",
                                   config::to_string(duration)));
  }
  const ScheduleLimits limits{.duration = duration, .warmup = options.warmup};
  schedule_registry().read_own_keys(
      section, options.type, options.own,
      [&](const ScheduleDefinition& definition, config::Section& keys, std::any& own) {
        if (definition.read) {
          definition.read(keys, own, limits);
        }
      });
  section.reject_unread();
  return options;
}

}  // namespace weft::train
