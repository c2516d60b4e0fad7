#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Sum of all elements, differentiable; bit-identical for any number of threads. (LibTorch splits a
/// large full reduction into one piece per thread.)
at::Tensor deterministic_sum(const at::Tensor& x);

}  // namespace weft::kernels
