#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "nn/forward_context.h"

namespace weft::nn {

/// Stochastic depth (arXiv:1603.09382): drops a sub-layer's output for randomly chosen sequences
/// and scales it by 1 / (1 - rate) for the others. Rows are tokens, (N, D), or sequences, (B, D),
/// with the same random draws. Returns the branch itself at rate 0 or outside training.
at::Tensor drop_path(const at::Tensor& branch,
                     double rate,
                     uint32_t site,
                     const ForwardContext& context);

}  // namespace weft::nn
