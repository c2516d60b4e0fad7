#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

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
