#include "kernels/attention/rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <ATen/ATen.h>

#include "kernels/reference.h"

namespace weft::kernels {

namespace {

constexpr double kTurn = 2 * std::numbers::pi;

/// How much of each plane keeps its wavelength, 0 to 1; arXiv:2309.00071, section 3.2, with the
/// ramp over the planes' numbers that the published models have.
at::Tensor kept_by_yarn(const RotaryOptions& options) {
  const auto& stretch = options.stretch;
  const auto width = static_cast<double>(options.width);
  const auto plane_of = [&](double turns) {  // the plane that turns so often in what was trained
    const double wave = static_cast<double>(stretch.original) / (turns * kTurn);
    return width * std::log(wave) / (2 * std::log(options.theta));
  };
  const bool whole = stretch.has_whole_planes;
  const double first = whole ? std::floor(plane_of(stretch.high)) : plane_of(stretch.high);
  const double last = whole ? std::ceil(plane_of(stretch.low)) : plane_of(stretch.low);
  const double begin = std::max(first, 0.0);
  const double end = std::min(last, width - 1);
  const auto planes = at::arange(options.width / 2, at::kFloat);
  return 1 - ((planes - begin) / (end == begin ? 1e-3 : end - begin)).clamp(0, 1);
}

at::Tensor kept_by_llama(const at::Tensor& frequencies, const RotaryStretch& stretch) {
  const auto turns = static_cast<double>(stretch.original) / (kTurn / frequencies);
  return ((turns - stretch.low) / (stretch.high - stretch.low)).clamp(0, 1);
}

at::Tensor stretched(const at::Tensor& frequencies, const RotaryOptions& options) {
  const auto& stretch = options.stretch;
  const auto mixed = [&](const at::Tensor& kept) {
    return (1 - kept) * (frequencies / stretch.factor) + kept * frequencies;
  };
  switch (stretch.scaling) {
    case RotaryScaling::kNone:
    case RotaryScaling::kDynamic:
      return frequencies;
    case RotaryScaling::kLinear:
      return frequencies / stretch.factor;
    case RotaryScaling::kLlama3:
      return mixed(kept_by_llama(frequencies, stretch));
    case RotaryScaling::kYarn:
      return mixed(kept_by_yarn(options));
  }
  TORCH_CHECK(false, "unknown scaling of rotary positions");
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
  return at::cat({angles.cos(), angles.sin()}, 1).mul_(options.stretch.strength).to(device);
}

at::Tensor rotated(const at::Tensor& x, const at::Tensor& table, const at::Tensor& positions) {
  return reference::rotate(x, table.index_select(0, positions));
}

}  // namespace weft::kernels
