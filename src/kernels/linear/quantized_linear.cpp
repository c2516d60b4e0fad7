#include "kernels/linear/quantized_linear.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "kernels/flop_counter.h"
#include "kernels/fused.h"
#include "kernels/workspace.h"

namespace weft::kernels {
namespace {

constexpr int64_t kRowsAtOnce = 48;  // whose values stay in the cache while panels pass
constexpr int64_t kWork = 1 << 17;   // weights that justify a separate thread
constexpr double kLimit = 127;

/// A weight in the form of this processor. values(begin, end) are those of some outputs, (outputs,
/// D) int8. In parts: the temporary tensors of a whole output matrix would take several times its
/// memory.
template <class Values>
QuantizedWeight make_weight(const at::Tensor& scales,
                            const at::Tensor& bias,
                            int64_t depth,
                            const Values& values) {
  constexpr int64_t kPart = 16 * cpu::kInt8Panel;
  const auto& level = cpu::kernel_table();
  const int64_t outputs = scales.size(0);
  const int64_t panels = divide_up(outputs, cpu::kInt8Panel);
  const int64_t groups = divide_up(depth, level.int8_group);
  QuantizedWeight weight{
      .panels = at::empty({panels, groups, cpu::kInt8Panel, level.int8_group}, at::kChar),
      .offsets = at::empty({panels * cpu::kInt8Panel}, at::kInt),
      .scales = scales,
      .bias = bias,
      .depth = depth};
  for (int64_t begin = 0; begin < outputs; begin += kPart) {
    const int64_t count = std::min(kPart, outputs - begin);
    const int64_t padded_count = round_up(count, cpu::kInt8Panel);
    const auto part =
        at::constant_pad_nd(values(begin, begin + count),
                            {0, groups * level.int8_group - depth, 0, padded_count - count});
    weight.panels.narrow(0, begin / cpu::kInt8Panel, padded_count / cpu::kInt8Panel)
        .copy_(part.view({-1, cpu::kInt8Panel, groups, level.int8_group}).permute({0, 2, 1, 3}));
    weight.offsets.narrow(0, begin, padded_count)
        .copy_(part.sum({1}, false, at::kInt).mul_(-level.int8_offset));
  }
  return weight;
}

/// Rows quantized for the product with panels.
struct QuantizedRows {
  at::Tensor words;   // (N, groups) int32
  at::Tensor scales;  // (N)
};

template <class T>
QuantizedRows quantized_rows(const at::Tensor& x,
                             std::optional<Activation> activation,
                             int64_t groups) {
  QuantizedRows result{.words = at::empty({x.size(0), groups}, at::kInt),
                       .scales = at::empty({x.size(0)}, at::kFloat)};
  const int64_t depth = x.size(1);
  for_each_block(x.size(0), row_grain(depth), [&](int64_t /*block*/, int64_t begin, int64_t end) {
    static thread_local Workspace<T> activated;
    operations<T>().quantize_rows({.x = elements<T>(x) + begin * depth,
                                   .activation = activation,
                                   .activated = activation ? activated.take(depth) : nullptr,
                                   .out = elements<uint32_t>(result.words) + begin * groups,
                                   .scales = elements<float>(result.scales) + begin,
                                   .rows = end - begin,
                                   .columns = depth,
                                   .groups = groups});
  });
  return result;
}

/// Computes some rows of the output's panels `begin` to `end`.
template <class T>
void multiply_panels(const QuantizedRows& x,
                     const QuantizedWeight& weight,
                     int64_t row,
                     int64_t begin,
                     int64_t end,
                     const at::Tensor& out) {
  const int64_t groups = x.words.size(1);
  const int64_t first = begin * cpu::kInt8Panel;
  const auto* const bias = elements<float>(weight.bias);
  operations<T>().int8_product(
      {.x = elements<uint32_t>(x.words) + row * groups,
       .row_scales = elements<float>(x.scales) + row,
       .panels = elements<int8_t>(weight.panels) + begin * weight.panels.stride(0),
       .offsets = elements<int32_t>(weight.offsets) + first,
       .column_scales = elements<float>(weight.scales) + first,
       .bias = bias == nullptr ? nullptr : bias + first,
       .out = elements<T>(out) + row * out.size(1) + first,
       .out_stride = out.size(1),
       .rows = std::min(kRowsAtOnce, out.size(0) - row),
       .columns = std::min(end * cpu::kInt8Panel, out.size(1)) - first,
       .groups = groups});
}

/// Split by rows, and by panels if there are few rows. The sums are exact, so this affects only the
/// speed.
template <class T>
void multiply_quantized(const at::Tensor& x,
                        std::optional<Activation> activation,
                        const QuantizedWeight& weight,
                        const at::Tensor& out) {
  const auto rows = quantized_rows<T>(x, activation, weight.panels.size(1));
  const int64_t blocks = divide_up(x.size(0), kRowsAtOnce);
  const int64_t panels = weight.panels.size(0);
  const int64_t work = std::min(x.size(0), kRowsAtOnce) * weight.depth * cpu::kInt8Panel;
  const int64_t width = blocks >= 2 * parallel_threads()
                            ? panels
                            : std::clamp<int64_t>(kWork / std::max<int64_t>(1, work), 1, panels);
  const int64_t pieces = divide_up(panels, width);
  parallel_for(0, blocks * pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t task = first; task < last; ++task) {
      const int64_t panel = task % pieces * width;
      multiply_panels<T>(rows, weight, task / pieces * kRowsAtOnce, panel,
                         std::min(panels, panel + width), out);
    }
  });
}

}  // namespace

QuantizedWeight quantized(const at::Tensor& weight, const at::Tensor& bias) {
  TORCH_CHECK(weight.device().is_cpu() && weight.dim() == 2 && weight.is_floating_point(),
              "quantized expects a weight (F, D) on the CPU, got ", weight.sizes(), " on ",
              weight.device());
  const at::NoGradGuard no_grad;
  const auto scales = at::empty({weight.size(0)}, at::kFloat);
  return make_weight(
      scales, bias.defined() ? bias.detach().to(at::kFloat).contiguous() : at::Tensor(),
      weight.size(1), [&](int64_t begin, int64_t end) {
        const auto wide = weight.detach().slice(0, begin, end).to(at::kFloat);
        auto scale = scales.slice(0, begin, end);
        scale.copy_(wide.abs().amax({1}).div_(kLimit));
        const auto divisors = at::where(scale > 0, scale, at::ones_like(scale)).unsqueeze(1);
        return wide.div(divisors).round_().clamp_(-kLimit, kLimit).to(at::kChar);
      });
}

at::Tensor quantized_values(const QuantizedWeight& weight) {
  return weight.panels.permute({0, 2, 1, 3})
      .flatten(2)
      .flatten(0, 1)
      .narrow(0, 0, weight.scales.size(0))
      .narrow(1, 0, weight.depth);
}

QuantizedWeight select_outputs(const QuantizedWeight& weight, const at::Tensor& outputs) {
  const auto panels = weight.panels.permute({0, 2, 1, 3});  // (panels, columns, groups, values)
  return make_weight(
      weight.scales.index_select(0, outputs),
      weight.bias.defined() ? weight.bias.index_select(0, outputs) : at::Tensor(), weight.depth,
      [&](int64_t begin, int64_t end) {
        const auto part = outputs.slice(0, begin, end);
        return panels.index({part.div(cpu::kInt8Panel, "floor"), part.remainder(cpu::kInt8Panel)})
            .flatten(1)
            .narrow(1, 0, weight.depth);
      });
}

at::Tensor quantized_linear(const at::Tensor& x,
                            const QuantizedWeight& weight,
                            std::optional<Activation> activation) {
  TORCH_CHECK(has_vector_kernel(x) && x.dim() == 2 && x.size(1) == weight.depth,
              "quantized_linear expects x (N, ", weight.depth, ") in fp32 or bf16 on the CPU, got ",
              x.sizes(), " ", x.scalar_type(), " on ", x.device());
  TORCH_CHECK(!(at::GradMode::is_enabled() && x.requires_grad()),
              "quantized_linear has no gradient: int8 weights support inference only");
  count_product({.rows = x.size(0), .depth = weight.depth, .columns = weight.scales.size(0)});
  const auto rows = x.detach().contiguous();
  auto out = at::empty({x.size(0), weight.scales.size(0)}, x.options());
  if (out.numel() > 0) {
    dispatch_element_type(x, [&](auto element) {
      using T = decltype(element);
      multiply_quantized<T>(rows, activation, weight, out);
    });
  }
  return out;
}

}  // namespace weft::kernels
