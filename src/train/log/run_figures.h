#pragma once

#include <cstdint>
#include <string>

#include "train/step/evaluate.h"

namespace weft::train {

/// What a run's metrics.jsonl says of its best checkpoint, or of its last evaluation where it keeps
/// no best one: eval_loss, ... Empty where the run was never evaluated.
struct RunFigures {
  int64_t step = 0;
  Figures figures;
};
RunFigures figures_of_run(const std::string& directory);

}  // namespace weft::train
