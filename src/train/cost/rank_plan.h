#pragma once

#include <cstdint>
#include <optional>

#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/shard_layout.h"

namespace weft::train {

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
};

/// Sizes of these flat parameters, which may be without memory (on the meta device).
RankPlanSizes rank_plan_sizes(const FlatParameters& flat_parameters,
                              const Optimizer& optimizer,
                              bool has_ema);

/// Bytes of weights, gradients, optimizer state and average on each rank, if each computes one
/// micro-batch per step; without activations. With one rank, of an unsharded run.
double rank_state_bytes(const RankPlanSizes& sizes, Sharding sharding, int ranks);

/// Bytes that each rank sends in a step of one micro-batch per rank.
double rank_network_bytes(const RankPlanSizes& sizes, Sharding sharding, int ranks);

/// The least power of two of ranks whose state fits into `bytes` each; nullopt if 4,096 do not do.
std::optional<int> least_ranks(const RankPlanSizes& sizes, Sharding sharding, double bytes);

/// Estimate of a step on machines that are connected by a link.
struct StepEstimate {
  double seconds = 0;
  double efficiency = 0;             // part of the time in which ranks compute, 0 to 1
  double tokens_for_95_percent = 0;  // tokens per rank and step at which the efficiency is 0.95
};

/// `compute_seconds`: of a rank's share of `tokens` tokens; `link`: bytes per second of a machine
/// with one rank. Gradients are sent while the last two thirds of the computation run; with
/// Sharding::kAll weights are fetched during all of it. Latency of a message: 30 us.
StepEstimate estimate_step(const RankPlanSizes& sizes,
                           Sharding sharding,
                           int ranks,
                           double compute_seconds,
                           double tokens,
                           double link);

}  // namespace weft::train
