#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"

namespace weft::cli {

/// A padded batch of others and where its real tokens are.
class Padded {
 public:
  /// mask (B, L) of 0 and 1, or undefined: all real. Only padding on the right is taken, since
  /// elsewhere positions would differ. Throws formats::Error that begins with `place`.
  Padded(int64_t rows, int64_t columns, const at::Tensor& mask, const std::string& place);

  const kernels::Layout& layout() const { return layout_; }
  at::Tensor pack(const at::Tensor& padded) const;  // (B, L, ...) -> (N, ...)
  at::Tensor unpack(
      const at::Tensor& packed) const;  // (N, ...) -> (B, L, ...), zero where the mask is 0
  /// What is packed away: the elements at masked positions. (B, L) -> (B L - N)
  at::Tensor rest(const at::Tensor& padded) const;

 private:
  int64_t rows_;
  int64_t columns_;
  at::Tensor real_;    // (B L), bool
  at::Tensor places_;  // (N) int64
  kernels::Layout layout_;
};

}  // namespace weft::cli
