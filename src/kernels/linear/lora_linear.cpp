#include "kernels/linear/lora_linear.h"

#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include "kernels/dropout.h"
#include "kernels/fused.h"
#include "kernels/grad_accumulator.h"
#include "kernels/linear/product.h"
#include "kernels/norm.h"
#include "kernels/operation_profiler.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Updates of one call, stored in the autograd context; their matrices are stored as saved
/// variables.
struct Kept : torch::CustomClassHolder {
  std::vector<LoraUpdate> items;
};

constexpr std::size_t kFixed = 2;  // x and weight precede the pairs of matrices; x, or the tensors
                                   // to recompute it, is saved last
constexpr std::size_t kEach = 2;

at::Tensor dropped(const at::Tensor& x, const LoraUpdate& item) {
  return dropout(x, item.dropout, item.rng_key);
}

at::Tensor columns(const at::Tensor& y, const LoraUpdate& item) {  // (N, F) -> (N, G)
  return y.narrow(1, item.first, item.b.size(0));
}

/// The bias comes last, so that its absence does not shift the other arguments.
class LoraLinear : public torch::autograd::Function<LoraLinear> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& weight,
                            at::TensorList matrices,
                            const std::optional<at::Tensor>& bias,
                            const std::vector<LoraUpdate>& added) {
    const auto y = product(x, weight.t(), bias.value_or(at::Tensor()));  // (N, F)
    variable_list saved = {at::Tensor(), weight};
    saved.insert(saved.end(), matrices.begin(), matrices.end());
    auto kept = c10::make_intrusive<Kept>();
    for (const auto& item : added) {
      const auto inner = product(dropped(x, item), item.a.t());  // (N, R)
      add_product(columns(y, item), inner, item.b.t(), item.scale);
      saved.push_back(inner);
      kept->items.push_back(item);
      kept->items.back().a = at::Tensor();
      kept->items.back().b = at::Tensor();
    }
    const auto saved_x = save_for_recompute(x);
    saved.insert(saved.end(), saved_x.begin(), saved_x.end());
    context->save_for_backward(std::move(saved));
    context->saved_data["added"] = c10::IValue::make_capsule(std::move(kept));
    context->saved_data["has_bias"] = bias.has_value();
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto capsule = context->saved_data["added"].toCapsule();
    auto added = static_cast<const Kept&>(*capsule).items;
    const auto x = recompute(at::TensorList(saved).slice(kFixed + (kEach + 1) * added.size()));
    const auto g = gradients[0].contiguous();  // (N, F)
    const bool needs_x = context->needs_input_grad(0);
    variable_list result(kFixed + kEach * added.size() + 2);
    at::Tensor dx = needs_x ? product(g, saved[1]) : at::Tensor();
    if (context->needs_input_grad(1)) {
      result[1] = weight_gradient(saved[1], g, x);
    }
    for (std::size_t i = 0; i < added.size(); ++i) {
      auto& item = added[i];
      const auto index = kFixed + kEach * i;
      item.a = saved[index];
      item.b = saved[index + 1];
      const auto part = columns(g, item);                         // (N, G)
      const auto inner = product(part, item.b).mul_(item.scale);  // (N, R)
      if (context->needs_input_grad(index)) {
        result[index] = product(inner.t(), dropped(x, item));
      }
      if (context->needs_input_grad(index + 1)) {
        const auto& forward_inner = saved[kFixed + kEach * added.size() + i];
        result[index + 1] = product(part.t(), forward_inner).mul_(item.scale);
      }
      if (needs_x && item.dropout == 0) {
        add_product(dx, inner, item.a);
      } else if (needs_x) {
        dx.add_(dropped(product(inner, item.a), item));
      }
    }
    result[0] = dx;
    const auto bias = kFixed + kEach * added.size();
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(bias)) {
      result[bias] = bias_gradient(g);
    }
    return result;
  }
};

}  // namespace

at::Tensor linear(const at::Tensor& x,
                  const at::Tensor& weight,
                  const at::Tensor& bias,
                  const std::vector<LoraUpdate>& added) {
  const ScopedOperationTimer timer(Operation::kMatmul);
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && x.size(1) == weight.size(1),
              "linear expects x (N, D) and weight (F, D), got ", x.sizes(), " and ",
              weight.sizes());
  std::vector<at::Tensor> matrices;
  for (const auto& item : added) {
    TORCH_CHECK(item.a.size(1) == x.size(1) && item.a.size(0) == item.b.size(1) &&
                    item.first >= 0 && item.first + item.b.size(0) <= weight.size(0),
                "linear: the shapes of the LoRA matrices ", item.a.sizes(), " and ", item.b.sizes(),
                " at ", item.first, " do not match weight ", weight.sizes());
    matrices.push_back(item.a);
    matrices.push_back(item.b);
  }
  return LoraLinear::apply(x, weight, at::TensorList(matrices), optional(bias), added);
}

}  // namespace weft::kernels
