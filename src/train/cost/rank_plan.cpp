#include "train/cost/rank_plan.h"

#include <algorithm>
#include <map>

#include "nn/feed_forward/expert_exchange.h"

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

/// Of the layer that ranks gather, without experts that stay where they are.
double largest_gathered_layer(const RankPlanSizes& sizes) {
  return sizes.experts ? sizes.experts->rest_of_largest_layer : sizes.largest_layer;
}

double elements_of(const ShardLayout& layout, const Unit& unit) {
  double elements = 0;
  for (const auto range : unit.ranges) {
    elements += static_cast<double>(layout.ranges()[range].range.count);
  }
  return elements;
}

/// Bytes that a rank sends of its tokens in a step, to experts and back.
double token_bytes(const RankPlanSizes& sizes, int ranks, double tokens) {
  return sizes.experts
             ? (ranks - 1.0) / ranks * compute_bytes(sizes) * sizes.experts->token_elements * tokens
             : 0;
}

}  // namespace

RankPlanSizes rank_plan_sizes(const FlatParameters& flat_parameters,
                              const Optimizer& optimizer,
                              const TrainOptions& options) {
  const auto& layout = flat_parameters.layout();
  RankPlanSizes sizes{.elements = static_cast<double>(flat_parameters.size()),
                      .trained_elements = static_cast<double>(flat_parameters.trained_size()),
                      .units = static_cast<int64_t>(layout.units().size()),
                      .moments = static_cast<int64_t>(optimizer.moments().size()),
                      .is_bf16 = flat_parameters.compute().defined(),
                      .has_ema = options.ema.decay.has_value()};
  for (const auto& unit : layout.units()) {
    auto& most = unit.name.empty() ? sizes.outside_layers : sizes.largest_layer;
    most = std::max(most, elements_of(layout, unit));
  }
  return sizes;
}

std::optional<ExpertPlanSizes> expert_plan_sizes(const torch::nn::Module& model,
                                                 const FlatParameters& flat_parameters,
                                                 const TrainOptions& options) {
  // Rows and outputs in the forward pass and their gradients, also of a second forward pass.
  const double ways = options.gradient_checkpointing == ActivationCheckpointing::kNone ? 4 : 6;
  ExpertPlanSizes sizes;
  std::map<std::string, double, std::less<>> of_units;
  for (const auto& item : model.named_modules()) {
    const auto* const expert = dynamic_cast<const nn::Expert*>(item.value().get());
    if (expert == nullptr) {
      continue;
    }
    if (expert->index() == 0) {
      sizes.token_elements += ways * static_cast<double>(expert->token_elements());
    }
    for (const auto& parameter : expert->parameters()) {
      const auto elements = static_cast<double>(parameter.numel());
      sizes.elements += elements;
      of_units[std::string(unit_of(item.key() + "."))] += elements;
    }
  }
  if (sizes.elements == 0) {
    return std::nullopt;
  }
  const auto& layout = flat_parameters.layout();
  for (const auto& unit : layout.units()) {
    if (!unit.name.empty()) {
      sizes.rest_of_largest_layer =
          std::max(sizes.rest_of_largest_layer, elements_of(layout, unit) - of_units[unit.name]);
    }
  }
  return sizes;
}

std::vector<RankPlanChoice> rank_plan_choices(const RankPlanSizes& sizes,
                                              const std::optional<ExpertPlanSizes>& experts) {
  std::vector<RankPlanChoice> choices;
  for (const auto& [name, sharding] : sharding_choices()) {
    choices.push_back({std::string(name), sharding, sizes});
    if (sharding == Sharding::kAll && experts) {
      choices.push_back({"all, expert_parallel", sharding, sizes});
      choices.back().sizes.experts = experts;
    }
  }
  return choices;
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
    bytes += compute * (sizes.outside_layers + 2 * largest_gathered_layer(sizes));
  } else {
    bytes += compute * sizes.elements;
  }
  if (sharding == Sharding::kOptimizer) {
    bytes += compute * sizes.trained_elements + sum;
  } else {  // gradients of what is outside the layers, and of a layer
    bytes += compute * (sizes.outside_layers + largest_gathered_layer(sizes));
  }
  return bytes;
}

double rank_network_bytes(const RankPlanSizes& sizes, Sharding sharding, int ranks, double tokens) {
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
    case Sharding::kAll: {
      const double experts = sizes.experts ? sizes.experts->elements : 0;
      const double layers = sizes.elements - sizes.outside_layers - experts;
      return part * compute * (trained - experts + 2 * layers + sizes.outside_layers) +
             token_bytes(sizes, ranks, tokens);
    }
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
  const double total = rank_network_bytes(sizes, sharding, ranks, 0) / link + latency;
  const double travel = token_bytes(sizes, ranks, tokens) / link;
  // Updated weights are gathered after the update, when nothing is left to compute.
  const bool gathers_at_the_end =
      sharding == Sharding::kOptimizer || sharding == Sharding::kGradients;
  const double hidden = gathers_at_the_end ? total / 2 : total;
  const double during = (sharding == Sharding::kAll ? 1.0 : 2.0 / 3) * (1 - 1 / units);
  const auto exposed = [&](double seconds) {
    return std::max(hidden - during * seconds, hidden / units) + (total - hidden);
  };
  StepEstimate estimate;
  estimate.seconds = compute_seconds + exposed(compute_seconds) + travel;
  estimate.efficiency = compute_seconds / estimate.seconds;
  // Of the computation that may be exposed. Travel grows with the tokens, as the computation does.
  const double share = 1 / 0.95 - 1 - travel / compute_seconds;
  if (share <= 0) {
    estimate.tokens_for_95_percent = std::nullopt;
    return estimate;
  }
  const double needed =
      std::max(total / (share + during), (hidden / units + (total - hidden)) / share);
  estimate.tokens_for_95_percent = tokens * needed / compute_seconds;
  return estimate;
}

}  // namespace weft::train
