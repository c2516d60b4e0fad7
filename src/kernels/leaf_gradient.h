#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// The gradient of a leaf, where a backward pass may add its share to it in place and hand nothing
/// to autograd: that spares a tensor of the weight's size, its zeros and an addition. Undefined
/// where there is none yet or autograd must see the share.
inline at::Tensor leaf_gradient(const at::Tensor& weight) {
  if (!weight.defined() || !weight.is_leaf() || !weight.requires_grad()) {
    return {};
  }
  const auto& gradient = weight.grad();
  const bool suits = gradient.defined() && gradient.is_contiguous() &&
                     gradient.scalar_type() == weight.scalar_type() && !gradient.requires_grad();
  return suits ? gradient : at::Tensor();
}

/// What a backward pass hands to autograd for the weight (F, D) of y = x W^T, g (N, F) being the
/// gradient of y and x (N, D): undefined where it went into the leaf's gradient.
at::Tensor weight_gradient(const at::Tensor& weight, const at::Tensor& g, const at::Tensor& x);
/// And for the bias that was added to y: (F).
at::Tensor bias_gradient(const at::Tensor& g);

}  // namespace weft::kernels
