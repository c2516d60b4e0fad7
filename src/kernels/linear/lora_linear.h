#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/random_bits.h"

namespace weft::kernels {

/// Low-rank update added to some output columns of a linear layer (arXiv:2106.09685): scale *
/// dropout(x) A^T B^T.
struct LoraUpdate {
  at::Tensor a;       // (R, D)
  at::Tensor b;       // (G, R)
  int64_t first = 0;  // first of the G columns
  double scale = 1;
  double dropout = 0;  // on x, for this update only
  RngKey rng_key = {};
};

/// x W^T + b plus the low-rank updates. x (N, D), weight (F, D), bias (F) or undefined -> (N, F).
/// Tensors that need no gradient add no cost.
at::Tensor linear(const at::Tensor& x,
                  const at::Tensor& weight,
                  const at::Tensor& bias,
                  const std::vector<LoraUpdate>& added);

}  // namespace weft::kernels
