#include "train/step/patience.h"

#include <cmath>

namespace weft::train {

void count(Patience& patience, double value, bool is_better_low, const EarlyStoppingOptions& rule) {
  const double gain =
      patience.best ? (is_better_low ? *patience.best - value : value - *patience.best) : 0;
  if (std::isfinite(value) && (!patience.best || gain > rule.min_delta)) {
    patience = {.best = value, .waited = 0};
  } else {
    ++patience.waited;
  }
}

bool is_exhausted(const Patience& patience, const EarlyStoppingOptions& rule) {
  return rule.patience && patience.waited >= *rule.patience;
}

}  // namespace weft::train
