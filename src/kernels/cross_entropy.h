#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Rows per chunk of logits, given the shape of the weight and the bytes per element: enough that
/// accumulating the weight's gradient over chunks is cheap compared with the products.
int64_t logit_chunk_rows(int64_t classes, int64_t width, int64_t element_bytes);

/// Sum over rows of -log softmax(x W^T + b)[target], fp32, in chunks that never hold all logits. x
/// (M, D), weight (V, D), bias (V) or undefined, targets (M) int64 -> scalar fp32. The forward pass
/// computes the gradients of x, weight and bias; backward scales them.
at::Tensor linear_cross_entropy(const at::Tensor& x,
                                const at::Tensor& weight,
                                const at::Tensor& bias,
                                const at::Tensor& targets);

/// Same loss from logits (M, C); label -100 is ignored. Sum, fp32 scalar.
at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& targets);

/// Label smoothing term added to the cross entropy, for logits z = x W^T + b that are never
/// computed: sum over rows of z[target] - mean(z), fp32 scalar, differentiable. With a fraction s
/// of the target's probability spread evenly over all V classes (arXiv:1512.00567, section 7),
///
///   (1 - s) (-log p[target]) + s mean(-log p) = -log p[target] + s (z[target] - mean(z)),
///
/// since both terms share the softmax normaliser. x (M, D), weight (V, D), bias (V) or undefined,
/// targets (M) int64.
at::Tensor label_smoothing_term(const at::Tensor& x,
                                const at::Tensor& weight,
                                const at::Tensor& bias,
                                const at::Tensor& targets);

}  // namespace weft::kernels
