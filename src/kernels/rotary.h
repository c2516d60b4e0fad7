#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::kernels {

struct RotaryOptions {
  int64_t width = 0;  // features of a head that are turned, even: K, or the first of them
  double theta = 0;   // the base of the wavelengths
  /// Wavelengths longer than original / low grow by the factor, those shorter than original / high
  /// stay, between the two it is mixed (Llama 3.1). original 0: all grow (arXiv:2306.15595).
  double factor = 1;
  double low = 1;
  double high = 4;
  double original = 0;
};

/// Cosines, then sines, of place * theta^(-2c / width) for the planes c < width / 2 of a head
/// (arXiv:2104.09864, equation 15): what `AttentionSettings::rotary` wants. -> (rows, width) fp32.
at::Tensor rotary_table(int64_t rows, const RotaryOptions& options, const at::Device& device);

/// x (N, H, K) turned by the table's rows `positions` (N), as attention does with queries and keys.
at::Tensor rotated(const at::Tensor& x, const at::Tensor& table, const at::Tensor& positions);

}  // namespace weft::kernels
