#include "train/cost/rank_plan.h"

#include <algorithm>

namespace weft::train {

namespace {

constexpr double kFp32 = 4;
constexpr double kBf16 = 2;
constexpr double kLatency = 30e-6;                  // seconds
constexpr double kMostInFlight = 64.0 * (1 << 20);  // bytes being sent and received

double compute_bytes(const RankPlanSizes& sizes) { return sizes.is_bf16 ? kBf16 : kFp32; }

double bytes_in_flight(const RankPlanSizes& sizes) {
  return std::min(kMostInFlight, 2 * kFp32 * sizes.trained_elements);
}

/// Master weights with their bf16 copy, optimizer state and average.
double owned_bytes(const RankPlanSizes& sizes) {
  const double weights = kFp32 + (sizes.is_bf16 ? kBf16 : 0);
  const double state = kFp32 * (static_cast<double>(sizes.moments) + (sizes.has_ema ? 1 : 0));
  return weights * sizes.elements + state * sizes.trained_elements;
}

}  // namespace

RankPlanSizes rank_plan_sizes(const FlatParameters& flat_parameters,
                              const Optimizer& optimizer,
                              bool has_ema) {
  const auto& layout = flat_parameters.layout();
  RankPlanSizes sizes{.elements = static_cast<double>(flat_parameters.size()),
                      .trained_elements = static_cast<double>(flat_parameters.trained_size()),
                      .units = static_cast<int64_t>(layout.units().size()),
                      .moments = static_cast<int64_t>(optimizer.moments().size()),
                      .is_bf16 = flat_parameters.compute().defined(),
                      .has_ema = has_ema};
  for (const auto& unit : layout.units()) {
    double elements = 0;
    for (const auto range : unit.ranges) {
      elements += static_cast<double>(layout.ranges()[range].range.count);
    }
    auto& most = unit.name.empty() ? sizes.outside_layers : sizes.largest_layer;
    most = std::max(most, elements);
  }
  return sizes;
}

double rank_state_bytes(const RankPlanSizes& sizes, Sharding sharding, int ranks) {
  const double compute = compute_bytes(sizes);
  const double sum = sizes.is_bf16 && ranks > 1 ? kFp32 * sizes.trained_elements : 0;
  if (sharding == Sharding::kNone || ranks == 1) {
    return owned_bytes(sizes) + compute * sizes.trained_elements + sum +
           (ranks > 1 ? bytes_in_flight(sizes) : 0);
  }
  const double summed = kFp32 * sizes.trained_elements;  // gradients of the owned elements
  double bytes = (owned_bytes(sizes) + summed) / ranks + bytes_in_flight(sizes);
  if (sharding == Sharding::kAll) {
    bytes += compute * (sizes.outside_layers + 2 * sizes.largest_layer);
  } else {
    bytes += compute * sizes.elements;
  }
  if (sharding == Sharding::kOptimizer) {
    bytes += compute * sizes.trained_elements + sum;
  } else {  // gradients of what is outside the layers, and of a layer
    bytes += compute * (sizes.outside_layers + sizes.largest_layer);
  }
  return bytes;
}

double rank_network_bytes(const RankPlanSizes& sizes, Sharding sharding, int ranks) {
  const double part = (ranks - 1.0) / ranks;
  const double compute = compute_bytes(sizes);
  const double trained = sizes.trained_elements;
  switch (sharding) {
    case Sharding::kNone:
      return part * 2 * kFp32 * trained;
    case Sharding::kOptimizer:
      return part * (kFp32 + compute) * trained;
    case Sharding::kGradients:
      return part * 2 * compute * trained;
    case Sharding::kAll:
      return part * compute *
             (trained + 2 * (sizes.elements - sizes.outside_layers) + sizes.outside_layers);
  }
  return 0;
}

std::optional<int> least_ranks(const RankPlanSizes& sizes, Sharding sharding, double bytes) {
  for (int ranks = 1; ranks <= 4096; ranks *= 2) {
    if (rank_state_bytes(sizes, sharding, ranks) <= bytes) {
      return ranks;
    }
  }
  return std::nullopt;
}

StepEstimate estimate_step(const RankPlanSizes& sizes,
                           Sharding sharding,
                           int ranks,
                           double compute_seconds,
                           double tokens,
                           double link) {
  if (ranks == 1) {
    return {.seconds = compute_seconds, .efficiency = 1, .tokens_for_95_percent = 0};
  }
  const auto units = static_cast<double>(sizes.units);
  const double latency = 2 * (ranks - 1) * kLatency * units;
  const double total = rank_network_bytes(sizes, sharding, ranks) / link + latency;
  // Updated weights are gathered after the update, when nothing is left to compute.
  const bool gathers_at_the_end =
      sharding == Sharding::kOptimizer || sharding == Sharding::kGradients;
  const double hidden = gathers_at_the_end ? total / 2 : total;
  const double during = (sharding == Sharding::kAll ? 1.0 : 2.0 / 3) * (1 - 1 / units);
  const auto exposed = [&](double seconds) {
    return std::max(hidden - during * seconds, hidden / units) + (total - hidden);
  };
  StepEstimate estimate;
  estimate.seconds = compute_seconds + exposed(compute_seconds);
  estimate.efficiency = compute_seconds / estimate.seconds;
  const double share = 1 / 0.95 - 1;  // of the computation that may be exposed
  const double needed =
      std::max(total / (share + during), (hidden / units + (total - hidden)) / share);
  estimate.tokens_for_95_percent = tokens * needed / compute_seconds;
  return estimate;
}

}  // namespace weft::train
