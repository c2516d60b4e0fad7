#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Rows of a chunk of logits, given the shape of the weight and the bytes of an element: enough
/// that adding up the weight's gradient from chunk to chunk costs little beside the products.
int64_t logit_rows_at_once(int64_t classes, int64_t width, int64_t element_bytes);

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
