#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Boundaries of the sequences of a packed batch. Immutable; cheap to copy.
struct Layout {
  std::vector<int64_t> offsets{0};  // B + 1, on the host
  at::Tensor device_offsets;        // (B + 1) int32 on the model's device
  at::Tensor positions;             // (N) int64, same device: position in the sequence, from 0
  int64_t max_length = 0;           // L
  int64_t position_limit = 0;       // 1 + the largest position: above L if positions continue after
                                    // an earlier pass

  /// Throws unless offsets start at 0 and are non-decreasing.
  static Layout from_offsets(std::vector<int64_t> offsets, const at::Device& device);

  /// Same, for sequences of these lengths.
  static Layout from_lengths(const std::vector<int64_t>& lengths, const at::Device& device);

  /// Same, for continued sequences: the first token of sequence b has position before[b].
  static Layout continuing(std::vector<int64_t> offsets,
                           const std::vector<int64_t>& before,
                           const at::Device& device);

  /// Copy with the given token positions, (N), which need not be increasing (arXiv:1901.07291).
  Layout with_positions(const std::vector<int64_t>& token_positions) const;

  int64_t sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t tokens() const { return offsets.back(); }
  /// Tokens of sequence b.
  int64_t length(int64_t b) const {
    const auto i = static_cast<std::size_t>(b);
    return offsets[i + 1] - offsets[i];
  }
  /// Tokens of each sequence, (B) int64 on the model's device.
  at::Tensor device_lengths() const;
};

}  // namespace weft::kernels
