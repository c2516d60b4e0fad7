#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// x W^T + b. x (N, D), weight (F, D), bias (F) or undefined -> (N, F). The gradient of the bias is
/// summed in fp32 in an order that does not depend on the number of threads.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// Columns [first, first + count) of linear(), from those rows of weight and bias only: (N, count).
at::Tensor linear_slice(const at::Tensor& x,
                        const at::Tensor& weight,
                        const at::Tensor& bias,
                        int64_t first,
                        int64_t count);

/// a b for each item of a batch, with LibTorch's product and gradient. a (..., N, K), b (..., K, F)
/// -> (..., N, F); the first dimensions are broadcast. bf16 is widened to fp32 on a CPU without
/// bf16 instructions, where LibTorch's product of bf16 is 20 times slower.
at::Tensor batched_product(const at::Tensor& a, const at::Tensor& b);

}  // namespace weft::kernels
