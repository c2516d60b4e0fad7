#include "kernels/activation.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"
#include "kernels/grad_accumulator.h"
#include "kernels/linear/linear.h"
#include "kernels/linear/product.h"
#include "kernels/operation_profiler.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Kind {
  Activation activation;
  bool is_gated;
};

void save(AutogradContext* context, const Kind& kind) {
  context->saved_data["activation"] = static_cast<int64_t>(kind.activation);
  context->saved_data["is_gated"] = kind.is_gated;
}

Kind saved_kind(AutogradContext* context) {
  return {.activation = static_cast<Activation>(context->saved_data["activation"].toInt()),
          .is_gated = context->saved_data["is_gated"].toBool()};
}

/// Computes y from x; or, if `dx` is defined, dx from the gradient of y, recomputing y too if it is
/// defined. dx may alias the gradient if the activation is not gated.
void run_activation(const Kind& kind,
                    const at::Tensor& x,
                    const at::Tensor& y,
                    const at::Tensor& gradient,
                    const at::Tensor& dx) {
  const int64_t columns = x.size(-1);
  const int64_t columns_of_y = kind.is_gated ? columns / 2 : columns;
  const int64_t rows = x.numel() / std::max<int64_t>(1, columns);
  dispatch_element_type(x, [&](auto element) {
    using T = decltype(element);
    const auto& own = operations<T>(x);
    const auto forward = kind.is_gated ? own.gated_forward : own.activation_forward;
    const auto backward = kind.is_gated ? own.gated_backward : own.activation_backward;
    const auto moved = [](auto* p, int64_t elements) { return p == nullptr ? p : p + elements; };
    for_each_range(x, rows, row_grain(columns), [&](int64_t begin, int64_t end) {
      (dx.defined() ? backward : forward)(
          kind.activation, {.x = elements<const T>(x) + begin * columns,
                            .y = moved(elements<T>(y), begin * columns_of_y),
                            .gradient = moved(elements<const T>(gradient), begin * columns_of_y),
                            .dx = moved(elements<T>(dx), begin * columns),
                            .rows = end - begin,
                            .columns = columns_of_y});
    });
  });
}

at::Tensor empty_result(const at::Tensor& x, const Kind& kind) {
  return kind.is_gated ? at::empty({x.size(0), x.size(1) / 2}, x.options()) : at::empty_like(x);
}

at::Tensor value(const at::Tensor& x, const Kind& kind) {
  auto y = empty_result(x, kind);
  run_activation(kind, x, y, {}, {});
  return y;
}

class Activate : public torch::autograd::Function<Activate> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given, const Kind& kind) {
    const auto x = given.contiguous();
    context->save_for_backward({x});
    save(context, kind);
    return value(x, kind);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto x = context->get_saved_variables()[0];
    const auto dx = at::empty_like(x);
    run_activation(saved_kind(context), x, {}, gradients[0].contiguous(), dx);
    return {dx, {}};
  }
};

class ActivationLinear : public torch::autograd::Function<ActivationLinear> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& given,
                            const Kind& kind,
                            const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) {
    const auto x = given.contiguous();
    context->save_for_backward({x, weight});
    context->saved_data["has_bias"] = bias.has_value();
    save(context, kind);
    return product(timed_value(x, kind), weight.t(), bias.value_or(at::Tensor()));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto& x = saved[0];
    const auto& weight = saved[1];
    const auto kind = saved_kind(context);
    const auto g = gradients[0].contiguous();  // (N, D)
    const bool wants_weight = context->needs_input_grad(1);
    at::Tensor y;
    at::Tensor dx;
    at::Tensor dweight;
    at::Tensor dbias;
    if (context->needs_input_grad(0)) {
      const auto dy = product(g, weight);  // (N, F)
      const ScopedOperationTimer timer(Operation::kActivation);
      y = wants_weight ? empty_result(x, kind) : y;
      dx = kind.is_gated ? at::empty_like(x) : dy;
      run_activation(kind, x, y, dy, dx);
    } else if (wants_weight) {
      y = timed_value(x, kind);
    }
    if (wants_weight) {
      dweight = weight_gradient(weight, g, y);  // (D, F)
    }
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(2)) {
      dbias = bias_gradient(g);
    }
    return {dx, {}, dweight, dbias};
  }

 private:
  static at::Tensor timed_value(const at::Tensor& x, const Kind& kind) {
    const ScopedOperationTimer timer(Operation::kActivation);
    return value(x, kind);
  }
};

}  // namespace

at::Tensor activate_gated(const at::Tensor& x, Activation activation) {
  const ScopedOperationTimer timer(Operation::kActivation);
  TORCH_CHECK(x.dim() == 2 && x.size(1) % 2 == 0, "activate_gated expects (N, 2F), got ",
              x.sizes());
  if (!has_fused_kernel(x)) {
    return reference::activate_gated(x, activation);
  }
  return Activate::apply(x, Kind{.activation = activation, .is_gated = true});
}

at::Tensor activate(const at::Tensor& x, Activation activation) {
  const ScopedOperationTimer timer(Operation::kActivation);
  return has_fused_kernel(x) ? Activate::apply(x, Kind{.activation = activation, .is_gated = false})
                             : reference::activate(x, activation);
}

at::Tensor activate(const at::Tensor& x, Activation activation, bool is_gated) {
  return is_gated ? activate_gated(x, activation) : activate(x, activation);
}

at::Tensor activation_linear(const at::Tensor& x,
                             Activation activation,
                             bool is_gated,
                             const at::Tensor& weight,
                             const at::Tensor& bias) {
  if (!has_fused_kernel(x)) {
    return linear(activate(x, activation, is_gated), weight, bias);
  }
  const ScopedOperationTimer timer(Operation::kMatmul);
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && x.size(1) == (is_gated ? 2 : 1) * weight.size(1),
              "activation_linear expects x (N, F), gated (N, 2F), and weight (D, F), got ",
              x.sizes(), " and ", weight.sizes());
  return ActivationLinear::apply(x, Kind{.activation = activation, .is_gated = is_gated}, weight,
                                 optional(bias));
}

}  // namespace weft::kernels
