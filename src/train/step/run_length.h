#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "train/optimizer/train_options.h"

namespace weft::train {

/// Checks the length of a run whose epochs have this many steps, which is asked only if needed.
/// Returns a warning if the run has very few updates. Throws UserError if the warm-up is longer
/// than the run. What only the clock or the texts tell is not checked.
std::optional<std::string> check_run_length(const TrainOptions& options,
                                            const std::function<int64_t()>& steps_per_epoch);

}  // namespace weft::train
