#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/distributed/process_group.h"

namespace weft::train {

/// Losses of one micro-batch, all but `own_loss` its part of the step's.
struct MicroBatchLosses {
  int64_t index = 0;  // in the step
  double loss = 0;
  double own_loss = 0;  // of a step that has only this micro-batch, without auxiliary losses
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
  double norm = 0;          // of the gradient; the highest of the ranks, or one that is not finite
  bool is_stopped = false;  // a rank was asked to stop before it had computed its share

  bool is_complete() const { return !shortage && !is_stopped; }
};

/// A micro-batch that a rank computes.
struct Share {
  std::size_t index = 0;  // of the micro-batch
  bool is_own = true;     // false: another rank computes it as well, and counts it
};

/// The micro-batches of this rank; `ranks`: which rank each belongs to. `are_equal`: all ranks
/// compute as many, as they exchange gradients after each one.
std::vector<Share> shares_of(const std::vector<int64_t>& ranks,
                             const ProcessGroup& group,
                             bool are_equal);

/// Adds auxiliary losses and running sums of a micro-batch to those of the step.
void add_sums(const MicroBatchLosses& micro_batch,
              std::map<std::string, double>& auxiliary_losses,
              std::vector<double>& running_sums);

/// Exchanges the outcomes of all ranks, so that each has the whole step: all micro-batches in
/// order, the shortage of the smallest micro-batch, and whether any rank was stopped. Throws
/// DistributedError.
StepOutcome exchange_outcomes(ProcessGroup& group, const StepOutcome& mine);

}  // namespace weft::train
