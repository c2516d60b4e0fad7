#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/shard_layout.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// Experts that ranks divide among themselves (train.ranks.expert_parallel).
struct ExpertPlanSizes {
  double elements = 0;               // of all experts
  double rest_of_largest_layer = 0;  // elements of the layer with the most besides its experts
  double token_elements = 0;         // that a token sends in a step: rows, outputs, gradients
};

/// What of a run determines the memory and the traffic of its ranks. Elements with alignment gaps.
struct RankPlanSizes {
  double elements = 0;
  double trained_elements = 0;
  double largest_layer = 0;   // elements
  double outside_layers = 0;  // elements: embeddings, head
  int64_t units = 1;          // layers, and what is outside
  int64_t moments = 2;        // of the optimizer, fp32
  bool is_bf16 = false;
  bool has_ema = false;
  std::optional<ExpertPlanSizes> experts = std::nullopt;  // of a run with expert parallelism
};

/// Sizes of these flat parameters, which may be without memory (on the meta device), without expert
/// parallelism.
RankPlanSizes rank_plan_sizes(const FlatParameters& flat_parameters,
                              const Optimizer& optimizer,
                              const TrainOptions& options);

/// The experts of a model; nullopt if it has none.
std::optional<ExpertPlanSizes> expert_plan_sizes(const torch::nn::Module& model,
                                                 const FlatParameters& flat_parameters,
                                                 const TrainOptions& options);

/// A way to divide a model among ranks.
struct RankPlanChoice {
  std::string name;  // of the values of train.ranks.shard, or `all, expert_parallel`
  Sharding sharding = Sharding::kNone;
  RankPlanSizes sizes;
};

/// All of them; with expert parallelism only if there are experts.
std::vector<RankPlanChoice> rank_plan_choices(const RankPlanSizes& sizes,
                                              const std::optional<ExpertPlanSizes>& experts);

/// Bytes of weights, gradients, optimizer state and average on each rank, if each computes one
/// micro-batch per step; without activations. With one rank, of an unsharded run.
double rank_state_bytes(const RankPlanSizes& sizes, Sharding sharding, int ranks);

/// Bytes that each rank sends in a step of one micro-batch of `tokens` tokens per rank.
double rank_network_bytes(const RankPlanSizes& sizes, Sharding sharding, int ranks, double tokens);

/// The least power of two of ranks whose state fits into `bytes` each; nullopt if 4,096 do not do.
std::optional<int> least_ranks(const RankPlanSizes& sizes, Sharding sharding, double bytes);

/// Estimate of a step on machines that are connected by a link.
struct StepEstimate {
  double seconds = 0;
  double efficiency = 0;  // part of the time in which ranks compute, 0 to 1
  /// Tokens per rank and step at which the efficiency is 0.95; nullopt: it always is lower, as
  /// tokens are on their way to experts for longer.
  std::optional<double> tokens_for_95_percent = 0;
};

/// `compute_seconds`: of a rank's share of `tokens` tokens; `link`: bytes per second of a machine
/// with one rank. Gradients are sent while the last two thirds of the computation run; with
/// Sharding::kAll weights are fetched during all of it; nothing runs while tokens travel to
/// experts. Latency of a message: 30 us.
StepEstimate estimate_step(const RankPlanSizes& sizes,
                           Sharding sharding,
                           int ranks,
                           double compute_seconds,
                           double tokens,
                           double link);

}  // namespace weft::train
