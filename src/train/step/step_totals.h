#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/data_loader.h"
#include "objectives/objective.h"

namespace weft::train {

/// Denominators of the losses of a step.
struct StepTotals {
  std::vector<double> terms;                      // of the objective
  std::vector<std::vector<double>> weights = {};  // of each micro-batch: its part of the terms
  double tokens = 0;                              // of auxiliary losses
  double sequences = 0;
  int64_t targets = 0;  // of all ranks
  double part = 1;      // of the targets that are counted
};

/// Counts all micro-batches of a step; only those of `rank`, if it makes updates of its own.
StepTotals step_totals(const objectives::Objective& objective,
                       const data::StepBatches& batches,
                       const std::optional<int>& rank);

}  // namespace weft::train
