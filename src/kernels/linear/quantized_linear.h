#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "kernels/activation.h"

namespace weft::kernels {

/// Int8 weight of a linear layer, for CPU inference: w[f, d] ~ scales[f] * values[f, d], symmetric,
/// from -127 to 127, one scale per output. The panels have the form of the CPU level that was in
/// use (cpu::Int8Product).
struct QuantizedWeight {
  at::Tensor panels;   // (panels, groups, columns, values of a group) int8
  at::Tensor offsets;  // (panels * columns) int32
  at::Tensor scales;   // (F) fp32
  at::Tensor bias;     // (F) fp32, or undefined
  int64_t depth = 0;   // D
};

/// Quantizes weight (F, D), bias (F) or undefined.
QuantizedWeight quantized(const at::Tensor& weight, const at::Tensor& bias);

/// The weight's values (F, D), int8.
at::Tensor quantized_values(const QuantizedWeight& weight);

/// Some outputs of a weight. outputs (M), int64.
QuantizedWeight select_outputs(const QuantizedWeight& weight, const at::Tensor& outputs);

/// x W^T + b, or activation(x) W^T + b. The rows of x, or of its activation, are also quantized to
/// int8, each with its own scale, and products are accumulated exactly in integers, so a row of the
/// result does not depend on the other rows. x (N, D) fp32 or bf16 on the CPU, without gradient ->
/// (N, F).
at::Tensor quantized_linear(const at::Tensor& x,
                            const QuantizedWeight& weight,
                            std::optional<Activation> activation = {});

}  // namespace weft::kernels
