#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// a b for each item of a batch, with LibTorch's product and gradient. a (B, N, K), b (B, K, F) ->
/// (B, N, F).
at::Tensor batched_product(const at::Tensor& a, const at::Tensor& b);

}  // namespace weft::kernels
