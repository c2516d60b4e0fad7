#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Where the sequences of a packed batch begin and end. Immutable; cheap to copy.
struct Layout {
  std::vector<int64_t> offsets{0};  // B + 1, on the host
  at::Tensor device_offsets;        // (B + 1) int32 on the model's device
  at::Tensor positions;             // (N) int64 there: place of each token in its sequence, from 0
  int64_t longest = 0;              // L
  int64_t furthest = 0;             // 1 + the largest of positions: beyond L where positions go on
                                    // after those of an earlier pass

  /// Checks that offsets rise and begin at 0.
  static Layout of(std::vector<int64_t> offsets, const at::Device& device);

  /// The same of sequences that go on: the first token of sequence b stands at place before[b].
  static Layout going_on(std::vector<int64_t> offsets,
                         const std::vector<int64_t>& before,
                         const at::Device& device);

  /// The same with its tokens at other places, (N), which need not rise (arXiv:1901.07291).
  Layout at_places(const std::vector<int64_t>& places) const;

  int64_t sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t tokens() const { return offsets.back(); }
};

}  // namespace weft::kernels
