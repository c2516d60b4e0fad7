#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/chance.h"

namespace weft::kernels {

/// A product of two thin matrices that is added to some columns of a linear layer's output
/// (arXiv:2106.09685): scale * dropout(x) A^T B^T.
struct LowRank {
  at::Tensor a;       // (R, D)
  at::Tensor b;       // (G, R)
  int64_t first = 0;  // of the G columns
  double scale = 1;
  double dropout = 0;  // on x, for this product alone
  Chance chance = {};
};

/// x W^T + b and the low-rank products. x (N, D), weight (F, D), bias (F) or undefined -> (N, F).
/// What needs no gradient costs none.
at::Tensor linear(const at::Tensor& x,
                  const at::Tensor& weight,
                  const at::Tensor& bias,
                  const std::vector<LowRank>& added);

}  // namespace weft::kernels
