#include "kernels/linear.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"
#include "kernels/leaf_gradient.h"
#include "kernels/operation_clock.h"
#include "kernels/product.h"
#include "kernels/wide.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class Linear : public torch::autograd::Function<Linear> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) {
    context->save_for_backward({x, weight});
    context->saved_data["has_bias"] = bias.has_value();
    return product(x, weight.t(), bias.value_or(at::Tensor()));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto& x = saved[0];
    const auto& weight = saved[1];
    const auto g = gradients[0].contiguous();  // (N, F)
    at::Tensor dx;
    at::Tensor dweight;
    at::Tensor dbias;
    if (context->needs_input_grad(0)) {
      dx = product(g, weight);  // (N, D)
    }
    if (context->needs_input_grad(1)) {
      dweight = weight_gradient(weight, g, x);  // (F, D)
    }
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(2)) {
      dbias = bias_gradient(g);
    }
    return {dx, dweight, dbias};
  }
};

}  // namespace

at::Tensor weight_gradient(const at::Tensor& weight, const at::Tensor& g, const at::Tensor& x) {
  const auto sum = leaf_gradient(weight);
  if (!sum.defined()) {
    return product(g.t(), x);
  }
  add_product(sum, g.t(), x);
  return {};
}

at::Tensor bias_gradient(const at::Tensor& g) {
  return (is_served(g) ? column_sum(g) : at::sum(g, {0}, false, wide(g))).to(g.scalar_type());
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const Timed timed(Operation::kProducts);
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && x.size(1) == weight.size(1),
              "linear expects x (N, D) and weight (F, D), got ", x.sizes(), " and ",
              weight.sizes());
  return Linear::apply(x, weight, optional(bias));
}

}  // namespace weft::kernels
