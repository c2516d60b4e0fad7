#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "nn/depth/sequence_selection.h"
#include "nn/forward_context.h"

/// Stochastic depth (arXiv:1603.09382): training drops a sub-layer's output for randomly chosen
/// sequences and scales it by 1 / (1 - rate) for the others.
namespace weft::nn {

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
