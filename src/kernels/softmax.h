#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Softmax over the last dimension, in the dtype of x. Unlike at::softmax, its gradient has the
/// same bits for any number of threads.
at::Tensor softmax(const at::Tensor& x);

}  // namespace weft::kernels
