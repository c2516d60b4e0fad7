#pragma once

#include <optional>
#include <string>

#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include "train/distributed/process_group.h"
#include "train/optimizer/shard_layout.h"
#include "train/optimizer/train_options.h"
#include "train/run/run_config.h"
#include "train/run/run_record.h"
#include "train/step/run_components.h"

namespace weft::train {

/// Divides the ranks into groups as `train.ranks.shard_group` says. A collective. Throws UserError
/// if it does not fit them; DistributedError.
void divide_ranks(const RanksOptions& options, ProcessGroup& group);

/// What of the model this rank has, as `train.ranks` says.
ShardOptions shard_options(const RanksOptions& options,
                           const torch::nn::Module& model,
                           ProcessGroup& group);

/// Throws UserError on all ranks unless they have the same precision, data, tokenizer and initial
/// weights: they would train a model that none of them describes.
void require_same_run(ProcessGroup& group, const RunRecord& record);

/// prepare_run on each rank. What is stored on disk is built by rank 0, with all cores of its
/// machine, and read by the others. If ranks are on several machines, the first of each tokenises a
/// share of the running text before. Throws UserError, Stopped, DistributedError.
RunComponents prepare_on_ranks(const RunConfig& config,
                               const std::optional<std::string>& checkpoint,
                               const c10::Device& device,
                               ProcessGroup& group);

}  // namespace weft::train
