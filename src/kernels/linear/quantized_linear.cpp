#include "kernels/linear/quantized_linear.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "kernels/flop_counter.h"
#include "kernels/fused.h"

namespace weft::kernels {
namespace {

constexpr int64_t kRowsAtOnce = 128;   // so that the sums of an F-wide layer stay in the cache
constexpr int64_t kRowWork = 1 << 17;  // weights that justify a separate thread
constexpr int64_t kFewestColumns = 16;

// Whether LibTorch's int8 product is exact for the largest values. It offsets the left side by 128
// on processors that multiply unsigned by signed.
bool is_exact() {
  const auto ones = at::full({16, 64}, 127, at::kChar);
  const auto sums = at::_int_mm(ones, ones.t());
  return sums.eq(int64_t{64} * 127 * 127).all().item<bool>();
}

/// Computes rows `begin` to `end` of the layer's output.
class Rows {
 public:
  Rows(const at::Tensor& x, const QuantizedWeight& weight, const at::Tensor& out)
      : x_(x), weight_(weight), right_(weight.values.t()), out_(out) {}

  void operator()(int64_t begin, int64_t end) const {
    const int64_t rows = end - begin;
    const auto left = at::empty({rows, x_.size(1)}, at::kChar);
    const auto scales = at::empty({rows}, at::kFloat);
    dispatch_element_type(x_, [&](auto element) {
      using T = decltype(element);
      operations<T>().quantize_rows({.x = elements<T>(x_) + begin * x_.size(1),
                                     .out = elements<int8_t>(left),
                                     .scales = elements<float>(scales),
                                     .rows = rows,
                                     .columns = x_.size(1)});
      const auto sums = at::_int_mm(left, right_);  // (rows, F)
      operations<T>().scale_sums({.sums = elements<const int32_t>(sums),
                                  .row_scales = elements<float>(scales),
                                  .column_scales = elements<float>(weight_.scales),
                                  .bias = elements<float>(weight_.bias),
                                  .out = elements<T>(out_) + begin * out_.size(1),
                                  .rows = rows,
                                  .columns = out_.size(1)});
    });
  }

 private:
  const at::Tensor& x_;
  const QuantizedWeight& weight_;
  at::Tensor right_;  // (D, F)
  const at::Tensor& out_;
};

/// The output of a single row, split by its columns: LibTorch's product reads the weight slower
/// than the memory delivers it.
void multiply_row(const at::Tensor& x, const QuantizedWeight& weight, const at::Tensor& out) {
  const int64_t depth = x.size(1);
  const auto left = at::empty({depth}, at::kChar);
  float scale = 0;
  dispatch_element_type(x, [&](auto element) {
    using T = decltype(element);
    operations<T>().quantize_rows({.x = elements<T>(x),
                                   .out = elements<int8_t>(left),
                                   .scales = &scale,
                                   .rows = 1,
                                   .columns = depth});
    const auto* const bias = elements<float>(weight.bias);
    const auto columns = std::max(kFewestColumns, kRowWork / std::max<int64_t>(1, depth));
    for_each_block(out.size(1), columns, [&](int64_t /*block*/, int64_t begin, int64_t end) {
      std::vector<int32_t> sums(static_cast<std::size_t>(end - begin));
      cpu::kernel_table().int8_row(elements<int8_t>(left),
                                   elements<int8_t>(weight.values) + begin * depth, end - begin,
                                   depth, sums.data());
      operations<T>().scale_sums({.sums = sums.data(),
                                  .row_scales = &scale,
                                  .column_scales = elements<float>(weight.scales) + begin,
                                  .bias = bias == nullptr ? nullptr : bias + begin,
                                  .out = elements<T>(out) + begin,
                                  .rows = 1,
                                  .columns = end - begin});
    });
  });
}

}  // namespace

int64_t quantized_limit() {
  static const int64_t kLimit = is_exact() ? 127 : 63;
  return kLimit;
}

QuantizedWeight quantized(const at::Tensor& weight, const at::Tensor& bias) {
  TORCH_CHECK(weight.device().is_cpu() && weight.dim() == 2 && weight.is_floating_point(),
              "quantized expects a weight (F, D) on the CPU, got ", weight.sizes(), " on ",
              weight.device());
  const at::NoGradGuard no_grad;
  const auto wide = weight.detach().to(at::kFloat);
  const auto limit = static_cast<double>(quantized_limit());
  const auto scales = wide.abs().amax({1}).div_(limit);  // (F)
  const auto divisors = at::where(scales > 0, scales, at::ones_like(scales)).unsqueeze(1);
  return {.values = wide.div(divisors).round_().clamp_(-limit, limit).to(at::kChar).contiguous(),
          .scales = scales.contiguous(),
          .bias = bias.defined() ? bias.detach().to(at::kFloat).contiguous() : at::Tensor()};
}

at::Tensor quantized_linear(const at::Tensor& x, const QuantizedWeight& weight) {
  TORCH_CHECK(has_vector_kernel(x) && x.dim() == 2 && x.size(1) == weight.values.size(1),
              "quantized_linear expects x (N, ", weight.values.size(1),
              ") in fp32 or bf16 on the CPU, got ", x.sizes(), " ", x.scalar_type(), " on ",
              x.device());
  TORCH_CHECK(!(at::GradMode::is_enabled() && x.requires_grad()),
              "quantized_linear has no gradient: int8 weights support inference only");
  count_product(x, weight.values.t());
  const auto rows = x.detach().contiguous();
  auto out = at::empty({x.size(0), weight.values.size(0)}, x.options());
  if (rows.size(0) == 1) {
    multiply_row(rows, weight, out);
    return out;
  }
  const Rows multiply(rows, weight, out);
  for_each_block(rows.size(0), kRowsAtOnce,
                 [&](int64_t /*block*/, int64_t begin, int64_t end) { multiply(begin, end); });
  return out;
}

}  // namespace weft::kernels
