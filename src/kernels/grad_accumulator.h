#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// The gradient of a leaf, if a backward pass may accumulate into it in place and return no
/// gradient to autograd; this saves a tensor of the weight's size, zeroing it, and an addition.
/// Undefined if there is no gradient yet or autograd must see the contribution.
inline at::Tensor grad_accumulator(const at::Tensor& weight) {
  if (!weight.defined() || !weight.is_leaf() || !weight.requires_grad()) {
    return {};
  }
  const auto& gradient = weight.grad();
  const bool suits = gradient.defined() && gradient.is_contiguous() &&
                     gradient.scalar_type() == weight.scalar_type() && !gradient.requires_grad();
  return suits ? gradient : at::Tensor();
}

/// Gradient to return to autograd for the weight (F, D) of y = x W^T, given the gradient g (N, F)
/// of y and x (N, D). Undefined if it was accumulated into the leaf's gradient.
at::Tensor weight_gradient(const at::Tensor& weight, const at::Tensor& g, const at::Tensor& x);
/// Gradient of the bias added to y: (F).
at::Tensor bias_gradient(const at::Tensor& g);

}  // namespace weft::kernels
