#include "kernels/rotary.h"

#include <ATen/ATen.h>

#include "kernels/reference.h"

namespace weft::kernels {

namespace {

at::Tensor stretched(const at::Tensor& frequencies, const RotaryOptions& options) {
  if (options.factor == 1) {
    return frequencies;
  }
  const auto slow = frequencies / options.factor;
  if (options.original == 0) {
    return slow;
  }
  constexpr double kTurn = 6.283185307179586;
  const auto waves = kTurn / frequencies;
  const auto share = (options.original / waves - options.low) / (options.high - options.low);
  const auto mixed = (1 - share) * frequencies / options.factor + share * frequencies;
  const auto long_or_mixed = at::where(waves > options.original / options.low, slow, mixed);
  return at::where(waves < options.original / options.high, frequencies, long_or_mixed);
}

}  // namespace

at::Tensor rotary_table(int64_t rows, const RotaryOptions& options, const at::Device& device) {
  TORCH_CHECK(options.width > 0 && options.width % 2 == 0 && options.theta > 0,
              "a rotary table needs an even width and a theta above 0, got ", options.width,
              " and ", options.theta);
  // In single precision throughout, as the published models were trained.
  const auto plain = at::TensorOptions().dtype(at::kFloat);
  const auto exponents =
      at::arange(0, options.width, 2, plain) / static_cast<double>(options.width);
  const auto frequencies =
      stretched(at::pow(options.theta, exponents).reciprocal(), options);  // (K / 2)
  const auto angles = at::arange(rows, plain).unsqueeze(1) * frequencies;  // (rows, K / 2)
  return at::cat({angles.cos(), angles.sin()}, 1).to(device);
}

at::Tensor rotated(const at::Tensor& x, const at::Tensor& table, const at::Tensor& positions) {
  return reference::rotate(x, table.index_select(0, positions));
}

}  // namespace weft::kernels
