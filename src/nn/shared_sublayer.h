#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nn/sublayer.h"

namespace weft::nn {

/// Sub-layers that a block shares with another one.
struct SharedSublayers {
  std::shared_ptr<const torch::nn::Module> block = nullptr;  // the other one; null: none
  int64_t layer = 0;                                         // of that block
  std::vector<std::string> kinds = {};                       // their names

  bool has(const SublayerDefinition& kind) const;
  /// The sub-layer of the other block that is registered as `name`.
  std::shared_ptr<Sublayer> at(const std::string& name) const;
};

/// Runs the sub-layer of another layer in place of one: with dropout, cache and state of its own.
/// `shift`: from that layer to this one.
std::shared_ptr<Sublayer> run_in_other_layer(std::shared_ptr<Sublayer> sublayer, int64_t shift);

/// The context that the sub-layer then gets.
ForwardContext shifted(ForwardContext context, int64_t shift);

}  // namespace weft::nn
