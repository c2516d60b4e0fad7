#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"

namespace weft::cli {

/// A padded batch from outside and the indices of its real tokens.
class PaddedBatch {
 public:
  /// mask (B, L) of 0 and 1, or undefined: all real. Only right padding is accepted, since
  /// otherwise positions would differ. Throws formats::Error with the prefix `location`.
  PaddedBatch(int64_t rows, int64_t columns, const at::Tensor& mask, const std::string& location);

  const kernels::Layout& layout() const { return layout_; }
  at::Tensor pack(const at::Tensor& padded) const;  // (B, L, ...) -> (N, ...)
  at::Tensor unpack(
      const at::Tensor& packed) const;  // (N, ...) -> (B, L, ...), zero where the mask is 0
  /// Elements at masked positions, which pack() drops. (B, L) -> (B L - N)
  at::Tensor padding_values(const at::Tensor& padded) const;

 private:
  int64_t rows_;
  int64_t columns_;
  at::Tensor is_real_;       // (B L), bool
  at::Tensor real_indices_;  // (N) int64
  kernels::Layout layout_;
};

}  // namespace weft::cli
