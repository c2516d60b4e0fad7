#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"

namespace weft::nn {

/// Sums the rows of each sequence in fp32, in their order. x (N, D) -> (B, D) fp32; zeros for a
/// sequence without rows.
at::Tensor segment_sum(const at::Tensor& x, const kernels::Layout& layout);

}  // namespace weft::nn
