#pragma once

#include <cstdint>

#include "train/run/run_comparison.h"
#include "train/run/run_config.h"

namespace weft::train {

/// Result of `weft train --verify-resume`.
struct ResumeCheck {
  int64_t steps = 0;  // steps compared
  int64_t half = 0;   // step at which a new process resumed
  Comparison comparison;
};

/// Trains the config for `steps` steps (at most its duration) in one process, and again for half of
/// them in one process and the rest in another, all in a temporary directory that is removed, and
/// compares the results. Forks: the caller must not have trained before. Throws UserError with the
/// last output if one of them fails, or if the run depends on wall-clock time; Stopped.
ResumeCheck verify_resume(const RunConfig& config, int64_t steps);

}  // namespace weft::train
