#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// The weight of a linear layer in int8, for inference on the CPU: w[f, d] ~ scales[f] *
/// values[f, d], one scale for each output, zero kept.
struct QuantizedWeight {
  at::Tensor values;  // (F, D) int8
  at::Tensor scales;  // (F) fp32
  at::Tensor bias;    // (F) fp32, or undefined
};

/// weight (F, D), bias (F) or undefined.
QuantizedWeight quantized(const at::Tensor& weight, const at::Tensor& bias);

/// x W^T + b. The rows of x are brought to int8 too, each by a scale of its own, and integers are
/// added up exactly: a row of the result does not depend on the other rows. x (N, D) fp32 or bf16
/// on the CPU, which needs no gradient -> (N, F).
at::Tensor quantized_linear(const at::Tensor& x, const QuantizedWeight& weight);

/// The largest value of a weight in int8. A processor without VNNI adds pairs of products up in 16
/// bits, which 127 would overflow: it gets 63.
int64_t quantized_limit();

}  // namespace weft::kernels
