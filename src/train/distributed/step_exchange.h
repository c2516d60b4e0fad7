#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/distributed/process_group.h"

namespace weft::train {

/// Losses of one micro-batch, each its part of the step's.
struct MicroBatchLosses {
  int64_t index = 0;  // in the step
  double loss = 0;
  std::map<std::string, double> auxiliary_losses = {};  // by name, before their weights
  std::vector<double> running_sums = {};                // of the objective
};

/// A micro-batch that did not fit into the memory of its rank.
struct MicroBatchShortage {
  std::optional<int64_t> requested_bytes;
  int64_t tokens = 0;
  int64_t sequences = 0;
};

/// What ranks computed of one step.
struct StepOutcome {
  std::vector<MicroBatchLosses> micro_batches = {};
  std::optional<MicroBatchShortage> shortage = std::nullopt;
  bool is_stopped = false;  // a rank was asked to stop before it had computed its share

  bool is_complete() const { return !shortage && !is_stopped; }
};

/// Exchanges the outcomes of all ranks, so that each has the whole step: all micro-batches in
/// order, the shortage of the smallest micro-batch, and whether any rank was stopped. Throws
/// DistributedError.
StepOutcome exchange_outcomes(ProcessGroup& group, const StepOutcome& mine);

}  // namespace weft::train
