#pragma once

#include "train/distributed/process_group.h"
#include "train/optimizer/flat_parameters.h"

namespace weft::train {

/// Compares checksums (XXH3) of the weights that all ranks have; with Sharding::kAll, of those in
/// no layer. If several groups of ranks divide a copy of the model, also of their parts. Throws
/// DistributedError on all ranks if they differ, naming the ranks in the minority: the memory of a
/// rank is faulty, or its computation is not that of the others.
void check_replicas(const FlatParameters& flat_parameters, ProcessGroup& group);

}  // namespace weft::train
