#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Int8 weight of a linear layer, for CPU inference: w[f, d] ~ scales[f] * values[f, d], symmetric,
/// one scale per output.
struct QuantizedWeight {
  at::Tensor values;  // (F, D) int8
  at::Tensor scales;  // (F) fp32
  at::Tensor bias;    // (F) fp32, or undefined
};

/// Quantizes weight (F, D), bias (F) or undefined.
QuantizedWeight quantized(const at::Tensor& weight, const at::Tensor& bias);

/// x W^T + b. The rows of x are also quantized to int8, each with its own scale, and products are
/// accumulated exactly in integers, so a row of the result does not depend on the other rows. x (N,
/// D) fp32 or bf16 on the CPU, without gradient -> (N, F).
at::Tensor quantized_linear(const at::Tensor& x, const QuantizedWeight& weight);

/// Largest int8 value of a weight. A processor without VNNI adds pairs of products in 16 bits,
/// which would overflow with 127, so the limit is 63 there.
int64_t quantized_limit();

}  // namespace weft::kernels
