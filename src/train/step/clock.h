#pragma once

#include <cstdint>

#include "config/duration.h"

namespace weft::train {

/// How far a run has come, in every unit in which a duration may be given.
struct Clock {
  int64_t steps = 0;
  double epochs = 0;  // with the share of the epoch that runs
  int64_t tokens = 0;
  double minutes = 0;  // over all processes that worked on the run

  double in(config::DurationUnit unit) const;
};

/// Whether the clock has run for so long.
bool is_over(const Clock& clock, const config::Duration& duration);

/// Whether a whole multiple of `every` lies in (before, after]. Needs no memory, so a run that goes
/// on keeps the beat.
bool is_due(const Clock& before, const Clock& after, const config::Duration& every);

}  // namespace weft::train
