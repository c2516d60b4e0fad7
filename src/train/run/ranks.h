#pragma once

#include "train/distributed/process_group.h"
#include "train/optimizer/train_options.h"
#include "train/run/run_record.h"

namespace weft::train {

/// Divides the ranks into groups as `train.ranks.shard_group` says. A collective. Throws UserError
/// if it does not fit them; DistributedError.
void divide_ranks(const RanksOptions& options, ProcessGroup& group);

/// Throws UserError on all ranks unless they have the same precision, data, tokenizer and initial
/// weights: they would train a model that none of them describes.
void require_same_run(ProcessGroup& group, const RunRecord& record);

}  // namespace weft::train
