#include "kernels/attention/rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"
#include "kernels/reference.h"

namespace weft::kernels {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kTwoPi = 2 * std::numbers::pi;

/// Fraction of each pair's frequency that is kept, 0 to 1; arXiv:2309.00071, section 3.2, with the
/// ramp over the pairs' indices that the published models use.
at::Tensor yarn_ramp(const RotaryOptions& options) {
  const auto& scaling = options.scaling;
  const auto width = static_cast<double>(options.width);
  const auto dimension_of =
      [&](double turns) {  // pair with that many rotations in the training length
        const double wave = static_cast<double>(scaling.original_max_positions) / (turns * kTwoPi);
        return width * std::log(wave) / (2 * std::log(options.theta));
      };
  const bool whole = scaling.truncates;
  const double first = whole ? std::floor(dimension_of(scaling.high_frequency_factor))
                             : dimension_of(scaling.high_frequency_factor);
  const double last = whole ? std::ceil(dimension_of(scaling.low_frequency_factor))
                            : dimension_of(scaling.low_frequency_factor);
  const double begin = std::max(first, 0.0);
  const double end = std::min(last, width - 1);
  const auto planes = at::arange(options.width / 2, at::kFloat);
  return 1 - ((planes - begin) / (end == begin ? 1e-3 : end - begin)).clamp(0, 1);
}

at::Tensor llama3_ramp(const at::Tensor& frequencies, const RotaryScaling& scaling) {
  const auto turns = static_cast<double>(scaling.original_max_positions) / (kTwoPi / frequencies);
  return ((turns - scaling.low_frequency_factor) /
          (scaling.high_frequency_factor - scaling.low_frequency_factor))
      .clamp(0, 1);
}

at::Tensor scaled_frequencies(const at::Tensor& frequencies, const RotaryOptions& options) {
  const auto& scaling = options.scaling;
  const auto mixed = [&](const at::Tensor& kept) {
    return (1 - kept) * (frequencies / scaling.factor) + kept * frequencies;
  };
  switch (scaling.type) {
    case RotaryScalingType::kNone:
    case RotaryScalingType::kDynamic:
      return frequencies;
    case RotaryScalingType::kLinear:
      return frequencies / scaling.factor;
    case RotaryScalingType::kLlama3:
      return mixed(llama3_ramp(frequencies, scaling));
    case RotaryScalingType::kYarn:
      return mixed(yarn_ramp(options));
  }
  TORCH_CHECK(false, "unknown scaling of rotary positions");
}

/// x (N, H, K), its heads contiguous, rotated forwards or backwards.
at::Tensor rotated(const at::Tensor& x,
                   const at::Tensor& table,
                   const at::Tensor& positions,
                   float direction) {
  auto out = at::empty(x.sizes(), x.options());
  dispatch_element_type(x, [&](auto element) {
    using T = decltype(element);
    const auto row = x.size(1) * x.size(2);
    for_each_range(x, x.size(0), row_grain(row), [&](int64_t begin, int64_t end) {
      operations<T>(x).rotate({.x = elements<const T>(x) + begin * x.stride(0),
                               .row_stride = x.stride(0),
                               .rows = end - begin,
                               .heads = x.size(1),
                               .width = x.size(2),
                               .table = elements<const float>(table),
                               .rotary_width = table.size(1),
                               .positions = elements<const int64_t>(positions) + begin,
                               .direction = direction,
                               .out = elements<T>(out) + begin * row});
    });
  });
  return out;
}

class Rotate : public torch::autograd::Function<Rotate> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& table,
                            const at::Tensor& positions) {
    context->save_for_backward({table, positions});
    return rotated(x, table, positions, 1);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    return {rotated(gradients[0].contiguous(), saved[0], saved[1], -1), {}, {}};
  }
};

}  // namespace

at::Tensor rotary_table(int64_t rows, const RotaryOptions& options, const at::Device& device) {
  TORCH_CHECK(options.width > 0 && options.width % 2 == 0 && options.theta > 0,
              "a rotary table needs an even width and a theta above 0, got ", options.width,
              " and ", options.theta);
  // Single precision throughout, as in the training of the published models.
  const auto plain = at::TensorOptions().dtype(at::kFloat);
  const auto exponents =
      at::arange(0, options.width, 2, plain) / static_cast<double>(options.width);
  const auto frequencies =
      scaled_frequencies(at::pow(options.theta, exponents).reciprocal(), options);  // (K / 2)
  const auto angles = at::arange(rows, plain).unsqueeze(1) * frequencies;           // (rows, K / 2)
  return at::cat({angles.cos(), angles.sin()}, 1).mul_(options.scaling.attention_factor).to(device);
}

at::Tensor apply_rotary(const at::Tensor& x, const at::Tensor& table, const at::Tensor& positions) {
  if (has_fused_kernel(x) && x.stride(2) == 1 && x.stride(1) == x.size(2)) {
    return at::GradMode::is_enabled() ? Rotate::apply(x, table, positions)
                                      : rotated(x, table, positions, 1);
  }
  return reference::rotate(x, table.index_select(0, positions));
}

}  // namespace weft::kernels
