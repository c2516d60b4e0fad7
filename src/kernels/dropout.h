#pragma once

#include <cstdint>
#include <utility>

#include <ATen/core/Tensor.h>

#include "kernels/random_bits.h"

namespace torch::autograd {
struct AutogradContext;
}

namespace weft::kernels {

/// Keeps each element with probability 1 - p and scales it by 1 / (1 - p). x (N, D) -> (N, D). p =
/// 0 returns x itself.
at::Tensor dropout(const at::Tensor& x, double p, const RngKey& rng_key);

/// residual (or 0 if undefined) + dropout(x), without autograd. Expects contiguous tensors
/// supported by the vector kernels.
at::Tensor dropout_forward(const at::Tensor& residual,
                           const at::Tensor& x,
                           const DropoutRule& rule,
                           int64_t first_row);

/// Saves a rule in the autograd context, so that the backward pass regenerates the same bits.
void save_rule(torch::autograd::AutogradContext& context,
               const DropoutRule& rule,
               int64_t first_row);
std::pair<DropoutRule, int64_t> saved_rule(torch::autograd::AutogradContext& context);

}  // namespace weft::kernels
