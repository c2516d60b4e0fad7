#pragma once

#include <any>
#include <string>

#include "config/duration.h"
#include "config/section.h"

namespace weft::train {

/// `train.schedule:`
struct ScheduleOptions {
  std::string type = "linear";   // a name of the schedule registry
  std::any own = {};             // options struct of the type; empty: its defaults
  config::Duration warmup = {};  // from 0 to the full rate
};

/// Reads `train.schedule:` of a run of this duration. Throws config::Error.
ScheduleOptions read_schedule_options(config::Section section, const config::Duration& duration);

}  // namespace weft::train
