#pragma once

#include <cstdint>
#include <optional>

#include "train/optimizer/train_options.h"

namespace weft::train {

/// What early stopping has seen so far.
struct Patience {
  std::optional<double> best = std::nullopt;  // nothing: no finite figure yet
  int64_t waited = 0;                         // evaluations since the best
};

/// Counts one evaluation; a figure that is not finite is no better than any.
void count(Patience& patience, double value, bool is_better_low, const EarlyStoppingOptions& rule);

bool is_exhausted(const Patience& patience, const EarlyStoppingOptions& rule);

}  // namespace weft::train
