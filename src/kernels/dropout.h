#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/rng_key.h"

namespace weft::kernels {

/// Keeps each element with probability 1 - p and scales it by 1 / (1 - p). x (N, D) -> (N, D). p =
/// 0 returns x itself.
at::Tensor dropout(const at::Tensor& x, double p, const RngKey& rng_key);

}  // namespace weft::kernels
