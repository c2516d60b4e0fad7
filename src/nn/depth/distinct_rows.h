#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

/// Rows that are all different: their gradients need no sums, which LibTorch's index_select does
/// one row after another.
namespace weft::nn {

/// rows (M) int64, all different: (N, D) -> (M, D).
at::Tensor select_distinct_rows(const at::Tensor& x, const at::Tensor& rows);

/// The inverse, with zeros in the other rows: (M, D) -> (count, D).
at::Tensor scatter_distinct_rows(const at::Tensor& x, const at::Tensor& rows, int64_t count);

}  // namespace weft::nn
