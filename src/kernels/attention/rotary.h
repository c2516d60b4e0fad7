#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Which wavelengths are stretched for sequences longer than in training. kLinear: all
/// (arXiv:2306.15595); kDynamic: all, but only beyond the maximum length that a model accepts here,
/// so none; kLlama3: long ones, as in Llama 3.1; kYarn: long ones (arXiv:2309.00071).
enum class RotaryScalingType { kNone, kLinear, kDynamic, kLlama3, kYarn };

struct RotaryScaling {
  RotaryScalingType type = RotaryScalingType::kNone;
  double factor = 1;  // stretch factor of the wavelengths
  /// Feature pairs with fewer than `low_frequency_factor` rotations over `original_max_positions`
  /// training tokens are stretched; those with more than `high_frequency_factor` are not. Those
  /// between are interpolated: linearly in the number of rotations (kLlama3) or in the index of the
  /// pair (kYarn).
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  int64_t original_max_positions = 8192;
  bool truncates = true;        // kYarn: round the bounds of the interpolated range to integers
  double attention_factor = 1;  // kYarn: scale of the cosines and sines

  bool operator==(const RotaryScaling&) const = default;
};

struct RotaryOptions {
  int64_t width = 0;  // rotated features per head, even: K, or the first of them
  double theta = 0;   // base of the wavelengths
  RotaryScaling scaling = {};
};

/// Cosines, then sines, of position * theta^(-2c / width) for the pairs c < width / 2 of a head
/// (arXiv:2104.09864, equation 15), scaled; the format of `AttentionSettings::rotary`. -> (rows,
/// width) fp32.
at::Tensor rotary_table(int64_t rows, const RotaryOptions& options, const at::Device& device);

/// Rotates x (N, H, K) by the table's rows `positions` (N), as attention rotates queries and keys.
at::Tensor apply_rotary(const at::Tensor& x, const at::Tensor& table, const at::Tensor& positions);

}  // namespace weft::kernels
