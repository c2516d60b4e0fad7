#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/distributed/outer_optimizer.h"
#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/optimizer.h"

namespace weft::train {

/// The moments to save of a run with an outer optimizer: its own, which are the same on all ranks,
/// and those of each rank's optimizer, of which this process has one rank's only. In the place of
/// the others' are its own, as `ShardCollector` asks the owners for the values.
std::vector<std::pair<std::string, at::Tensor>> moments_of_ranks(const Optimizer& optimizer,
                                                                 const OuterOptimizer& outer,
                                                                 int ranks);

/// The rank that has the values of each flat tensor of a checkpoint with such moments: for
/// ShardCollector.
std::vector<int> owners_of_moments(const Optimizer& optimizer, int ranks);

/// Loads the momentum of the outer optimizer, unless the checkpoint is of a run without one. Throws
/// formats::Error.
void load_outer_momentum(const std::string& checkpoint,
                         const FlatParameters& flat_parameters,
                         const OuterOptimizer& outer);

}  // namespace weft::train
