#pragma once

#include <cstdint>
#include <string>

#include "train/step/evaluate.h"

namespace weft::train {

/// Metrics in metrics.jsonl of the run's best checkpoint, or of its last evaluation if it keeps no
/// best one: eval_loss, ... Empty if the run was never evaluated.
struct RunMetrics {
  int64_t step = 0;
  Metrics metrics;
};
RunMetrics read_run_metrics(const std::string& directory);

}  // namespace weft::train
