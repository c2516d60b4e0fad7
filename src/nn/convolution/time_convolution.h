#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/section.h"
#include "kernels/layout.h"
#include "nn/forward_context.h"

namespace weft::nn {

/// Rows of a packed batch with further rows around each sequence, for convolutions over time that
/// stop at the borders of the sequences.
class SpacedRows {
 public:
  /// `front` rows before each sequence and `back` rows after it.
  SpacedRows(const kernels::Layout& layout, int64_t front, int64_t back, const at::Device& device);

  /// x (N, ...) -> (windows() + front + back, ...); the further rows are zero, or, if defined, the
  /// rows `before` (B, front, ...) the sequences.
  at::Tensor spread(const at::Tensor& x, const at::Tensor& before = {}) const;

  /// Windows of 1 + front + back rows.
  int64_t windows() const { return windows_; }

  /// The window around each token, (N).
  const at::Tensor& token_windows() const { return index_; }

 private:
  int64_t front_;
  int64_t back_;
  int64_t windows_ = 0;
  std::vector<int64_t> begins_;  // first row of each sequence's front
  at::Tensor index_;
};

/// The last `count` rows of each sequence in the earlier passes of generation, (B, count, C), zero
/// before the first token; undefined outside generation. Keeps those of x (N, C) for the next pass.
at::Tensor earlier_rows(const at::Tensor& x,
                        int64_t count,
                        int64_t layer,
                        const ForwardContext& context);

/// Each feature convolved over time with a kernel of its own: spread rows (windows + taps - 1, C),
/// weight (C, taps) -> (windows, C).
at::Tensor depthwise_convolution(const at::Tensor& spread, const at::Tensor& weight);

/// Features convolved over time within groups: spread rows (windows + taps - 1, D), weight
/// (D, D / G, taps) -> (windows, D). The order of its sums does not depend on threads.
at::Tensor grouped_convolution(const at::Tensor& spread, const at::Tensor& weight);

/// Reads `kernel_size`. Throws config::Error for an even one.
void read_kernel_size(config::Section& section, int64_t& taps);

}  // namespace weft::nn
