#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "nn/depth/sequence_selection.h"
#include "nn/forward_context.h"

namespace weft::nn {

/// What training skips at random.
struct StochasticDepth {
  double drop_path_rate = 0;  // probability for a sequence and a sub-layer
  bool is_constant = false;   // the same in all layers, else growing linearly from 0 to the rate
  double layerdrop = 0;       // probability for a layer and a step (arXiv:1909.11556)

  bool operator==(const StochasticDepth&) const = default;
};

// Stochastic depth (arXiv:1603.09382): training drops a sub-layer's output for randomly chosen
// sequences and scales it by 1 / (1 - rate) for the others.

/// Applied to an output that was computed for all sequences. Rows are tokens, (N, D), or sequences,
/// (B, D), with the same random draws. Returns the branch itself at rate 0 or outside training.
at::Tensor drop_path(const at::Tensor& branch,
                     double rate,
                     uint32_t site,
                     const ForwardContext& context);

/// The sequences for which the output has to be computed, with the same random draws. nullopt: all,
/// at rate 0, outside training, or where the pass does not allow to leave some out.
std::optional<SequenceSelection> sequences_not_dropped(double rate,
                                                       uint32_t site,
                                                       const ForwardContext& context);

}  // namespace weft::nn
