#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Dtype for statistics and sums: double for double inputs, else float.
inline at::ScalarType accumulate_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace weft::kernels
