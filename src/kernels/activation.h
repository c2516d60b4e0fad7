#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/activation_kind.h"

namespace weft::kernels {

/// activation(x). (N, F) -> (N, F). Saves x, not the result.
at::Tensor activate(const at::Tensor& x, Activation activation);

/// activation(first half of the features) * second half (arXiv:2002.05202). (N, 2F) -> (N, F).
/// Saves x only.
at::Tensor activate_gated(const at::Tensor& x, Activation activation);

/// linear(activate(x), weight, bias), or of activate_gated(x), with the same bits. What lies
/// between is not kept for the way back: on the CPU it is made again there, beside its gradient. x
/// (N, F) or, gated, (N, 2F), weight (D, F), bias (D) or undefined -> (N, D).
at::Tensor linear_of_activated(const at::Tensor& x,
                               Activation activation,
                               bool is_gated,
                               const at::Tensor& weight,
                               const at::Tensor& bias);

}  // namespace weft::kernels
