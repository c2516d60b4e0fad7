#include <cmath>

#include "train/step/state.h"

namespace weft::train {

void update_early_stopping(EarlyStopping& early_stopping,
                           double value,
                           bool greater_is_better,
                           const EarlyStoppingOptions& options) {
  const double gain = early_stopping.best ? (greater_is_better ? value - *early_stopping.best
                                                               : *early_stopping.best - value)
                                          : 0;
  if (std::isfinite(value) && (!early_stopping.best || gain > options.min_delta)) {
    early_stopping = {.best = value, .num_bad_evaluations = 0};
  } else {
    ++early_stopping.num_bad_evaluations;
  }
}

bool should_stop_early(const EarlyStopping& early_stopping, const EarlyStoppingOptions& options) {
  return options.patience && early_stopping.num_bad_evaluations >= *options.patience;
}

}  // namespace weft::train
