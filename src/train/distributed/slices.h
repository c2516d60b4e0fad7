#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::train {

/// Throws c10::Error unless the slice is one-dimensional and contiguous: Gloo would silently
/// compute wrong sums.
void check_slice(const at::Tensor& slice);

/// Throws c10::Error also unless so many parts cover the slice.
void check_parts(const at::Tensor& slice, int64_t part, int ranks);

/// Adds the rows in pairs, then the sums of pairs in pairs, and so on, 16-bit types in fp32; may
/// overwrite rows. So the sum has the same bits if each 2, 4, 8, ... rows are added first, as ranks
/// of a machine do. (R, N) -> (N)
at::Tensor ordered_sum(const at::Tensor& rows);

/// Elements of a slice that belong to the rank: `part`, those of the last ranks fewer or none.
int64_t count_of(const at::Tensor& slice, int64_t part, int rank);

}  // namespace weft::train
