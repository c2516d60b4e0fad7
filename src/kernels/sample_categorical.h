#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Samples one column per row from softmax(logits), (M, C), by inverse CDF: the first column at
/// which the cumulative probability exceeds the row's uniform. `uniforms` (M), double, in [0, 1).
/// -> (M) int64, without gradient; identical for any number of threads.
at::Tensor sample_categorical(const at::Tensor& logits, const at::Tensor& uniforms);
/// The same from probabilities (M, C), which are divided by their sum.
at::Tensor sample_probabilities(const at::Tensor& probabilities, const at::Tensor& uniforms);

}  // namespace weft::kernels
