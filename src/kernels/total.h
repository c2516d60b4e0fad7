#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// The sum of all elements, with a gradient; the same bits whatever the number of threads.
/// (LibTorch cuts the sum of a large tensor to one number into a piece per thread.)
at::Tensor total(const at::Tensor& x);

}  // namespace weft::kernels
