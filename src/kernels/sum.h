#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Dtype for statistics and sums: double for double inputs, else float.
inline at::ScalarType accumulate_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// Sum of all elements, differentiable; bit-identical for any number of threads. (LibTorch splits a
/// large full reduction into one piece per thread.)
at::Tensor deterministic_sum(const at::Tensor& x);

/// Sum over the rows of x (N, D), contiguous fp32 or bf16 with a fused kernel -> (D) fp32;
/// bit-identical for any number of threads.
at::Tensor column_sum(const at::Tensor& x);

/// A row (D) repeated: (count, D). Its gradient is a column_sum, where that has a kernel.
at::Tensor repeat_row(const at::Tensor& row, int64_t count);

}  // namespace weft::kernels
