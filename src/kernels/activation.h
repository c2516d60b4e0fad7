#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/cpu/types.h"

namespace weft::kernels {

/// activation(x). (N, F) -> (N, F). Saves x, not the result.
at::Tensor activate(const at::Tensor& x, Activation activation);

/// activation(first half of the features) * second half (arXiv:2002.05202). (N, 2F) -> (N, F).
/// Saves x only.
at::Tensor activate_gated(const at::Tensor& x, Activation activation);

/// activate_gated(x) if gated, else activate(x).
at::Tensor activate(const at::Tensor& x, Activation activation, bool is_gated);

/// linear(activate(x, activation, is_gated), weight, bias); bit-identical to that.
/// The activated tensor is not saved: on the CPU, the backward pass recomputes it together with its
/// gradient. x (N, F), or (N, 2F) if gated, weight (D, F), bias (D) or undefined -> (N, D).
at::Tensor activation_linear(const at::Tensor& x,
                             Activation activation,
                             bool is_gated,
                             const at::Tensor& weight,
                             const at::Tensor& bias);

}  // namespace weft::kernels
