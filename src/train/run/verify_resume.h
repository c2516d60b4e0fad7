#pragma once

#include <cstdint>

#include "train/run/run_comparison.h"
#include "train/run/run_config.h"

namespace weft::train {

/// What `weft train --verify-resume` found.
struct ResumeProof {
  int64_t steps = 0;  // that were compared
  int64_t half = 0;   // after which a new process went on
  Comparison comparison;
};

/// Trains the config for so many steps (at most its own) in one process, and for half of them in
/// one and the rest in another, all in a temporary directory that is removed, and compares what
/// they leave. Forks: the caller must never have trained. Throws UserError where one of them fails,
/// with its last words, and where the clock decides what a run does; Stopped.
ResumeProof verify_resume(const RunConfig& config, int64_t steps);

}  // namespace weft::train
