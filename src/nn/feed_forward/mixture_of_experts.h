#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "config/section.h"
#include "nn/feed_forward/feed_forward.h"

namespace weft::nn {

inline constexpr int64_t kMostExperts = 4096;

/// A mixture of experts: each token is sent to a few of several feed-forwards.
struct MixtureOptions {
  int64_t experts = 8;         // E
  int64_t top = 2;             // experts of a token, k
  bool normalizes = true;      // the weights of a token's experts sum to 1
  double balance_loss = 0.01;  // weight of the load balancing loss
  double z_loss = 0;           // weight of the router z-loss
  double jitter = 0;           // noise of the router's input in training
  std::optional<double> capacity =
      {};  // most tokens of an expert in training, in shares of k l / E
  std::optional<int64_t> expert_capacity = {};  // most tokens of an expert

  bool operator==(const MixtureOptions&) const = default;
};

/// Reads these keys. Throws config::Error.
MixtureOptions read_mixture_options(config::Section& section, const MixtureOptions& defaults = {});

/// Type `mixture_of_experts`.
std::shared_ptr<FeedForward> make_mixture_of_experts(const FeedForwardOptions& options,
                                                     const MixtureOptions& own);

FeedForwardMaker read_mixture_of_experts(config::Section& section);

}  // namespace weft::nn
