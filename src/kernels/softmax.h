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

}  // namespace weft::kernels
