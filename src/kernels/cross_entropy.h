#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Bytes of the largest chunk of logits.
inline constexpr int64_t kLogitsAtOnce = int64_t{64} << 20U;

/// Sum over rows of -log softmax(x W^T + b)[target], in fp32, in chunks that never hold all logits.
/// x (M, D), weight (V, D), bias (V) or undefined, targets (M) int64 -> scalar fp32. Gradients for
/// x, weight, bias are made in the forward pass, scaled in backward.
at::Tensor linear_cross_entropy(const at::Tensor& x,
                                const at::Tensor& weight,
                                const at::Tensor& bias,
                                const at::Tensor& targets);

/// The same from logits (M, C); label -100 is ignored. Sum, fp32 scalar.
at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& targets);

}  // namespace weft::kernels
