#pragma once

#include <span>

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Softmax over the last dimension, in the dtype of x. Unlike at::softmax, its gradient has the
/// same bits for any number of threads.
at::Tensor softmax(const at::Tensor& x);

/// ln of the sum of exp(x) over the last dimension: x (N, C) -> (N) fp32, without gradient.
at::Tensor log_sum_exp(const at::Tensor& x);
/// The same of one row.
float log_sum_exp(std::span<const float> row);

/// Samples one column per row from softmax(logits), (M, C), by inverse CDF: the first column at
/// which the cumulative probability exceeds the row's uniform. `uniforms` (M), double, in [0, 1).
/// -> (M) int64, without gradient; identical for any number of threads.
at::Tensor sample_categorical(const at::Tensor& logits, const at::Tensor& uniforms);
/// The same from probabilities (M, C), which are divided by their sum.
at::Tensor sample_probabilities(const at::Tensor& probabilities, const at::Tensor& uniforms);

}  // namespace weft::kernels
