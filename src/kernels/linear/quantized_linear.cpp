#include "kernels/linear/quantized_linear.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "kernels/flop_counter.h"
#include "kernels/fused.h"
#include "kernels/workspace.h"

namespace weft::kernels {
namespace {

constexpr int64_t kRowsOfLibTorch = 128;  // so that the sums of a wide layer stay in the cache
constexpr int64_t kRowsAtOnce = 24;       // whose values stay in L1
constexpr int64_t kPanelsAtOnce = 8;      // so that their sums stay in L2
constexpr int64_t kWork = 1 << 17;        // weights that justify a separate thread
constexpr int64_t kFewestColumns = 16;
constexpr double kLimit = 127;

/// Whether LibTorch's int8 product is exact for the largest values. It offsets the left side by 128
/// on processors that multiply unsigned by signed.
bool is_exact() {
  const auto ones = at::full({16, 64}, 127, at::kChar);
  const auto sums = at::_int_mm(ones, ones.t());
  return sums.eq(int64_t{64} * 127 * 127).all().item<bool>();
}

/// Whether LibTorch's product is exact and fast.
bool uses_libtorch() {
  if (!cpu::has_vnni()) {
    return false;
  }
  static const bool kIsExact = is_exact();
  return kIsExact;
}

/// (F, D) -> panels of pairs, padded with zeros.
at::Tensor pack_int8(const at::Tensor& values) {
  const int64_t panels = divide_up(values.size(0), cpu::kInt8Panel);
  const int64_t pairs = divide_up(values.size(1), 2);
  return at::constant_pad_nd(
             values, {0, 2 * pairs - values.size(1), 0, panels * cpu::kInt8Panel - values.size(0)})
      .view({panels, cpu::kInt8Panel, pairs, 2})
      .permute({0, 2, 1, 3})
      .contiguous();
}

/// A weight with these values (F, D), in the form of this processor.
QuantizedWeight make_weight(const at::Tensor& values,
                            const at::Tensor& scales,
                            const at::Tensor& bias) {
  const bool is_packed = !uses_libtorch();
  return {.values = is_packed ? at::Tensor() : values.contiguous(),
          .panels = is_packed ? pack_int8(values) : at::Tensor(),
          .scales = scales.contiguous(),
          .bias = bias,
          .depth = values.size(1)};
}

/// Rows and columns of the layer's output.
struct OutputPart {
  int64_t first_row;
  int64_t rows;
  int64_t first_column;
  int64_t columns;
};

struct Sums {
  const int32_t* first;
  int64_t stride;
};

/// Dequantizes the sums of a part. `row_scales` are those of its rows.
template <class T>
void write_part(const OutputPart& part,
                const Sums& sums,
                const float* row_scales,
                const QuantizedWeight& weight,
                const at::Tensor& out) {
  const auto* const bias = elements<float>(weight.bias);
  operations<T>().scale_sums(
      {.sums = sums.first,
       .sums_stride = sums.stride,
       .row_scales = row_scales,
       .column_scales = elements<float>(weight.scales) + part.first_column,
       .bias = bias == nullptr ? nullptr : bias + part.first_column,
       .out = elements<T>(out) + part.first_row * out.size(1) + part.first_column,
       .out_stride = out.size(1),
       .rows = part.rows,
       .columns = part.columns});
}

/// LibTorch's product reads the weight of a single row slower than the memory delivers it.
template <class T>
void multiply_row(const at::Tensor& x, const QuantizedWeight& weight, const at::Tensor& out) {
  const int64_t depth = weight.depth;
  const auto left = at::empty({depth}, at::kChar);
  float scale = 0;
  operations<T>().quantize_rows({.x = elements<T>(x),
                                 .out = elements<int8_t>(left),
                                 .out_stride = depth,
                                 .scales = &scale,
                                 .rows = 1,
                                 .columns = depth});
  const auto columns = std::max(kFewestColumns, kWork / std::max<int64_t>(1, depth));
  for_each_block(out.size(1), columns, [&](int64_t /*block*/, int64_t begin, int64_t end) {
    std::vector<int32_t> sums(static_cast<std::size_t>(end - begin));
    cpu::kernel_table().int8_row(elements<int8_t>(left),
                                 elements<int8_t>(weight.values) + begin * depth, end - begin,
                                 depth, sums.data());
    write_part<T>({.first_row = 0, .rows = 1, .first_column = begin, .columns = end - begin},
                  {.first = sums.data(), .stride = end - begin}, &scale, weight, out);
  });
}

template <class T>
void multiply_with_libtorch(const at::Tensor& x,
                            const QuantizedWeight& weight,
                            const at::Tensor& out) {
  const auto right = weight.values.t();  // (D, F)
  for_each_block(x.size(0), kRowsOfLibTorch, [&](int64_t /*block*/, int64_t begin, int64_t end) {
    const int64_t rows = end - begin;
    const auto left = at::empty({rows, weight.depth}, at::kChar);
    const auto scales = at::empty({rows}, at::kFloat);
    operations<T>().quantize_rows({.x = elements<T>(x) + begin * weight.depth,
                                   .out = elements<int8_t>(left),
                                   .out_stride = weight.depth,
                                   .scales = elements<float>(scales),
                                   .rows = rows,
                                   .columns = weight.depth});
    const auto sums = at::_int_mm(left, right);  // (rows, F)
    write_part<T>({.first_row = begin, .rows = rows, .first_column = 0, .columns = out.size(1)},
                  {.first = elements<const int32_t>(sums), .stride = out.size(1)},
                  elements<float>(scales), weight, out);
  });
}

/// Rows quantized for the product with panels.
struct QuantizedRows {
  at::Tensor values;  // (N, even depth) int16
  at::Tensor scales;  // (N)
};

template <class T>
QuantizedRows quantized_rows(const at::Tensor& x) {
  const int64_t depth = x.size(1);
  const int64_t stride = round_up(depth, 2);
  const auto options = at::TensorOptions(at::kShort);
  QuantizedRows result{.values = stride == depth ? at::empty({x.size(0), stride}, options)
                                                 : at::zeros({x.size(0), stride}, options),
                       .scales = at::empty({x.size(0)}, at::kFloat)};
  for_each_block(x.size(0), row_grain(depth), [&](int64_t /*block*/, int64_t begin, int64_t end) {
    operations<T>().quantize_rows_wide({.x = elements<T>(x) + begin * depth,
                                        .out = elements<int16_t>(result.values) + begin * stride,
                                        .out_stride = stride,
                                        .scales = elements<float>(result.scales) + begin,
                                        .rows = end - begin,
                                        .columns = depth});
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
  static thread_local Workspace<int32_t> workspace;
  constexpr int64_t kStride = kPanelsAtOnce * cpu::kInt8Panel;
  auto* const sums = workspace.take(kRowsAtOnce * kStride);
  const int64_t rows = std::min(kRowsAtOnce, out.size(0) - row);
  for (int64_t panel = begin; panel < end; panel += kPanelsAtOnce) {
    const int64_t column = panel * cpu::kInt8Panel;
    const int64_t columns = std::min(kPanelsAtOnce, end - panel) * cpu::kInt8Panel;
    cpu::kernel_table().int8_product(
        {.x = elements<int16_t>(x.values) + row * x.values.size(1),
         .x_stride = x.values.size(1),
         .panels = elements<int8_t>(weight.panels) + column * x.values.size(1),
         .sums = sums,
         .sums_stride = kStride,
         .rows = rows,
         .columns = columns,
         .depth = weight.depth});
    write_part<T>({.first_row = row,
                   .rows = rows,
                   .first_column = column,
                   .columns = std::min(columns, out.size(1) - column)},
                  {.first = sums, .stride = kStride}, elements<float>(x.scales) + row, weight, out);
  }
}

/// Split by rows, and by panels if there are few rows. The sums are exact, so this affects only the
/// speed.
template <class T>
void multiply_packed(const at::Tensor& x, const QuantizedWeight& weight, const at::Tensor& out) {
  const auto rows = quantized_rows<T>(x);
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

template <class T>
void multiply_quantized(const at::Tensor& x, const QuantizedWeight& weight, const at::Tensor& out) {
  if (weight.panels.defined()) {
    multiply_packed<T>(x, weight, out);
  } else if (x.size(0) == 1) {
    multiply_row<T>(x, weight, out);
  } else {
    multiply_with_libtorch<T>(x, weight, out);
  }
}

}  // namespace

QuantizedWeight quantized(const at::Tensor& weight, const at::Tensor& bias) {
  TORCH_CHECK(weight.device().is_cpu() && weight.dim() == 2 && weight.is_floating_point(),
              "quantized expects a weight (F, D) on the CPU, got ", weight.sizes(), " on ",
              weight.device());
  const at::NoGradGuard no_grad;
  const int64_t outputs = weight.size(0);
  const auto values = at::empty(weight.sizes(), at::kChar);
  const auto scales = at::empty({outputs}, at::kFloat);
  // In parts: the temporary tensors of a whole output matrix would take twice its memory.
  constexpr int64_t kPart = 1024;
  for (int64_t begin = 0; begin < outputs; begin += kPart) {
    const auto count = std::min(kPart, outputs - begin);
    const auto wide = weight.detach().narrow(0, begin, count).to(at::kFloat);
    auto scale = scales.narrow(0, begin, count);
    scale.copy_(wide.abs().amax({1}).div_(kLimit));
    const auto divisors = at::where(scale > 0, scale, at::ones_like(scale)).unsqueeze(1);
    values.narrow(0, begin, count).copy_(wide.div(divisors).round_().clamp_(-kLimit, kLimit));
  }
  return make_weight(values, scales,
                     bias.defined() ? bias.detach().to(at::kFloat).contiguous() : at::Tensor());
}

at::Tensor quantized_values(const QuantizedWeight& weight) {
  if (!weight.panels.defined()) {
    return weight.values;
  }
  return weight.panels.permute({0, 2, 1, 3})
      .reshape({-1, 2 * weight.panels.size(1)})
      .narrow(0, 0, weight.scales.size(0))
      .narrow(1, 0, weight.depth);
}

QuantizedWeight select_outputs(const QuantizedWeight& weight, const at::Tensor& outputs) {
  const auto values =
      weight.panels.defined()
          ? weight.panels
                .permute({0, 2, 1, 3})  // (panels, columns, pairs, 2)
                .index({outputs.div(cpu::kInt8Panel, "floor"), outputs.remainder(cpu::kInt8Panel)})
                .flatten(1)
                .narrow(1, 0, weight.depth)
          : weight.values.index_select(0, outputs);
  return make_weight(values, weight.scales.index_select(0, outputs),
                     weight.bias.defined() ? weight.bias.index_select(0, outputs) : at::Tensor());
}

at::Tensor quantized_linear(const at::Tensor& x, const QuantizedWeight& weight) {
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
      multiply_quantized<T>(rows, weight, out);
    });
  }
  return out;
}

}  // namespace weft::kernels
