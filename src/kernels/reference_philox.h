#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/random_bits.h"

namespace weft::kernels::reference {

/// 16-bit random values of the elements of `tiles` tiles starting at `first_tile`. The counter has
/// four words: low word of the index, high word plus `second`, `third`, and 0. second, third (...,
/// 1, 1) int64 -> (..., tiles * 128) int64.
at::Tensor philox_bits(const DropoutRule& rule,
                       int64_t first_tile,
                       int64_t tiles,
                       const at::Tensor& second,
                       const at::Tensor& third);

/// 0 where the random value is below the threshold, else the scale; fp32.
at::Tensor dropout_mask(const DropoutRule& rule, const at::Tensor& bits);

}  // namespace weft::kernels::reference
