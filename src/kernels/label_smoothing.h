#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// What label smoothing adds to cross entropy, for logits z = x W^T + b that are never made: the
/// sum over rows of z[target] - mean(z), fp32 scalar with gradients. With the share s of the
/// target's probability spread evenly over all V classes (arXiv:1512.00567, section 7),
///
///   (1 - s) (-log p[target]) + s mean(-log p) = -log p[target] + s (z[target] - mean(z)),
///
/// since the normaliser of the softmax is in both. x (M, D), weight (V, D), bias (V) or undefined,
/// targets (M) int64.
at::Tensor target_lead(const at::Tensor& x,
                       const at::Tensor& weight,
                       const at::Tensor& bias,
                       const at::Tensor& targets);

}  // namespace weft::kernels
