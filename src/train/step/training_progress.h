#pragma once

#include <cstdint>

#include "config/duration.h"

namespace weft::train {

/// Progress of a run, in every unit of a duration.
struct TrainingProgress {
  int64_t steps = 0;
  double epochs = 0;  // including the fraction of the current epoch
  int64_t tokens = 0;
  double minutes = 0;  // summed over all processes of the run

  double in(config::DurationUnit unit) const;
};

/// Whether the progress has reached the duration.
bool is_over(const TrainingProgress& progress, const config::Duration& duration);

/// Whether a multiple of `every` is in (before, after]. Stateless, so a resumed run keeps the same
/// schedule.
bool is_due(const TrainingProgress& before,
            const TrainingProgress& after,
            const config::Duration& every);

}  // namespace weft::train
