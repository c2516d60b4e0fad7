#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Which wavelengths grow for sequences longer than those trained on. kLinear: all
/// (arXiv:2306.15595); kDynamic: all, but only behind the longest that a model takes here, so none;
/// kLlama3: long ones, as in Llama 3.1; kYarn: long ones (arXiv:2309.00071).
enum class RotaryScaling { kNone, kLinear, kDynamic, kLlama3, kYarn };

struct RotaryStretch {
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 1;  // by which they grow
  /// Planes that turn less than `low` times in the `original` tokens trained on are stretched,
  /// those that turn more than `high` times are not. Between the two it is mixed: by the number of
  /// turns (kLlama3), by the number of the plane (kYarn).
  double low = 1;
  double high = 4;
  int64_t original = 8192;
  bool has_whole_planes = true;  // kYarn: the mixed planes begin and end at whole numbers
  double strength = 1;           // kYarn: factor of cosines and sines

  bool operator==(const RotaryStretch&) const = default;
};

struct RotaryOptions {
  int64_t width = 0;  // features of a head that are turned, even: K, or the first of them
  double theta = 0;   // the base of the wavelengths
  RotaryStretch stretch = {};
};

/// Cosines, then sines, of place * theta^(-2c / width) for the planes c < width / 2 of a head
/// (arXiv:2104.09864, equation 15), stretched: what `AttentionSettings::rotary` wants.
/// -> (rows, width) fp32.
at::Tensor rotary_table(int64_t rows, const RotaryOptions& options, const at::Device& device);

/// x (N, H, K) turned by the table's rows `positions` (N), as attention does with queries and keys.
at::Tensor rotated(const at::Tensor& x, const at::Tensor& table, const at::Tensor& positions);

}  // namespace weft::kernels
