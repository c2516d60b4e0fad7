#include "kernels/linear/linear.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/flop_counter.h"
#include "kernels/fused.h"
#include "kernels/grad_accumulator.h"
#include "kernels/linear/blocked_product.h"
#include "kernels/linear/product.h"
#include "kernels/norm.h"
#include "kernels/operation_profiler.h"
#include "kernels/sum.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Range of rows of a weight or a bias.
struct LinearPart {
  int64_t first = 0;
  int64_t count = 0;
  at::Tensor select(const at::Tensor& x) const {
    return x.size(0) == count ? x : x.narrow(0, first, count);
  }
};

/// Gradient of the whole weight, given that of the rows; undefined if accumulated into the leaf's.
at::Tensor weight_gradient_of(const LinearPart& rows,
                              const at::Tensor& weight,
                              const at::Tensor& g,
                              const at::Tensor& x) {
  if (weight.size(0) == rows.count) {
    return weight_gradient(weight, g, x);
  }
  const auto leaf = grad_accumulator(weight);
  auto sum = leaf.defined() ? leaf : at::zeros_like(weight);
  add_product(rows.select(sum), g.t(), x);
  return leaf.defined() ? at::Tensor() : sum;
}

at::Tensor bias_gradient_of(const LinearPart& rows, int64_t size, const at::Tensor& g) {
  auto sum = bias_gradient(g);
  if (size == rows.count) {
    return sum;
  }
  auto whole = at::zeros({size}, sum.options());
  rows.select(whole).copy_(sum);
  return whole;
}

class Linear : public torch::autograd::Function<Linear> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            int64_t first,
                            int64_t count) {
    auto saved = save_for_recompute(x);
    saved.push_back(weight);
    context->save_for_backward(std::move(saved));
    context->saved_data["has_bias"] = bias.has_value();
    context->saved_data["first"] = first;
    context->saved_data["count"] = count;
    const LinearPart rows{first, count};
    return product(x, rows.select(weight).t(), bias ? rows.select(*bias) : at::Tensor());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto& weight = saved.back();
    const LinearPart rows{context->saved_data["first"].toInt(),
                          context->saved_data["count"].toInt()};
    const auto g = gradients[0].contiguous();  // (N, count)
    at::Tensor dx;
    at::Tensor dweight;
    at::Tensor dbias;
    if (context->needs_input_grad(0)) {
      dx = product(g, rows.select(weight));  // (N, D)
    }
    if (context->needs_input_grad(1)) {
      const auto x = recompute(at::TensorList(saved).slice(0, saved.size() - 1));
      dweight = weight_gradient_of(rows, weight, g, x);  // (F, D)
    }
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(2)) {
      dbias = bias_gradient_of(rows, weight.size(0), g);
    }
    return {dx, dweight, dbias, {}, {}};
  }
};

/// Product of bf16 batches in fp32.
class WidenedProduct : public torch::autograd::Function<WidenedProduct> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& a, const at::Tensor& b) {
    context->save_for_backward({a, b});
    return multiply(a, b).to(at::kBFloat16);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto& g = gradients[0];
    at::Tensor da;
    at::Tensor db;
    if (context->needs_input_grad(0)) {
      da = multiply(g, saved[1].transpose(-2, -1)).sum_to_size(saved[0].sizes()).to(at::kBFloat16);
    }
    if (context->needs_input_grad(1)) {
      db = multiply(saved[0].transpose(-2, -1), g).sum_to_size(saved[1].sizes()).to(at::kBFloat16);
    }
    return {da, db};
  }

 private:
  static at::Tensor multiply(const at::Tensor& a, const at::Tensor& b) {
    return at::matmul(a.to(at::kFloat), b.to(at::kFloat));
  }
};

at::Tensor multiply_widened(const at::Tensor& a, const at::Tensor& b) {
  if (b.dim() > 2) {
    return WidenedProduct::apply(a, b);
  }
  auto sizes = a.sizes().vec();  // one product of all rows
  sizes.back() = b.size(1);
  return WidenedProduct::apply(a.reshape({-1, a.size(-1)}), b).view(sizes);
}

}  // namespace

at::Tensor weight_gradient(const at::Tensor& weight, const at::Tensor& g, const at::Tensor& x) {
  const auto sum = grad_accumulator(weight);
  if (!sum.defined()) {
    return product(g.t(), x);
  }
  add_product(sum, g.t(), x);
  return {};
}

at::Tensor bias_gradient(const at::Tensor& g) {
  return (has_fused_kernel(g) ? column_sum(g) : at::sum(g, {0}, false, accumulate_type(g)))
      .to(g.scalar_type());
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return linear_slice(x, weight, bias, 0, weight.size(0));
}

at::Tensor linear_slice(const at::Tensor& x,
                        const at::Tensor& weight,
                        const at::Tensor& bias,
                        int64_t first,
                        int64_t count) {
  const ScopedOperationTimer timer(Operation::kMatmul);
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && x.size(1) == weight.size(1),
              "linear expects x (N, D) and weight (F, D), got ", x.sizes(), " and ",
              weight.sizes());
  TORCH_CHECK(first >= 0 && count >= 0 && first + count <= weight.size(0), "linear has no columns ",
              first, " to ", first + count, " of ", weight.size(0));
  return Linear::apply(x, weight, optional(bias), first, count);
}

at::Tensor batched_product(const at::Tensor& a, const at::Tensor& b) {
  const bool widens = a.device().is_cpu() && a.scalar_type() == at::kBFloat16 &&
                      b.scalar_type() == at::kBFloat16 && !multiplies_bf16();
  auto out = widens ? multiply_widened(a, b) : at::matmul(a, b);
  const int64_t flops = 2 * out.numel() * a.size(-1);
  const int64_t gradients = (a.requires_grad() ? 1 : 0) + (b.requires_grad() ? 1 : 0);
  count_with_backward(out, flops, gradients * flops);
  return out;
}

}  // namespace weft::kernels
