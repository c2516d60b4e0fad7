#pragma once

#include <cstdint>
#include <optional>

#include "train/optimizer/train_options.h"

namespace weft::train {

/// State of early stopping.
struct EarlyStopping {
  std::optional<double> best = std::nullopt;  // nullopt: no finite metric yet
  int64_t num_bad_evaluations = 0;            // evaluations since the best
};

/// Records one evaluation; a metric that is not finite never counts as an improvement.
void update_early_stopping(EarlyStopping& early_stopping,
                           double value,
                           bool greater_is_better,
                           const EarlyStoppingOptions& options);

bool should_stop_early(const EarlyStopping& early_stopping, const EarlyStoppingOptions& options);

}  // namespace weft::train
