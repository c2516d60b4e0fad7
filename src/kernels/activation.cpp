#include "kernels/activation.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"
#include "kernels/gpu.h"
#include "kernels/leaf_gradient.h"
#include "kernels/linear.h"
#include "kernels/operation_clock.h"
#include "kernels/product.h"
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

/// Calls run(activation, work) for pieces of the rows.
template <class T>
void for_each_piece(cpu::ActivationRows<T> work,
                    const Kind& kind,
                    void (*run)(Activation, cpu::ActivationRows<T>)) {
  const auto moved = [](auto* p, int64_t elements) { return p == nullptr ? p : p + elements; };
  const int64_t columns = (kind.is_gated ? 2 : 1) * work.columns;  // of x
  parallel_for(0, work.rows, row_grain(columns), [&](int64_t begin, int64_t end) {
    auto piece = work;
    piece.x = moved(work.x, begin * columns);
    piece.y = moved(work.y, begin * work.columns);
    piece.gradient = moved(work.gradient, begin * work.columns);
    piece.dx = moved(work.dx, begin * columns);
    piece.rows = end - begin;
    run(kind.activation, piece);
  });
}

at::Tensor empty_result(const at::Tensor& x, const Kind& kind) {
  return kind.is_gated ? at::empty({x.size(0), x.size(1) / 2}, x.options()) : at::empty_like(x);
}

int64_t rows_of(const at::Tensor& y) { return y.numel() / std::max<int64_t>(1, y.size(-1)); }

at::Tensor value(const at::Tensor& x, const Kind& kind) {
  auto y = empty_result(x, kind);
  with_element(x, [&](auto element) {
    using T = decltype(element);
    for_each_piece<T>(
        {.x = elements<const T>(x),
         .y = elements<T>(y),
         .gradient = nullptr,
         .dx = nullptr,
         .rows = rows_of(y),
         .columns = y.size(-1)},
        kind, kind.is_gated ? operations<T>().gated_forward : operations<T>().activation_forward);
  });
  return y;
}

/// The gradient of y becomes that of x, dx, which may lie in its place where nothing is gated; and
/// y is made again where it is defined.
void go_back(const at::Tensor& x,
             const at::Tensor& gradient,
             const Kind& kind,
             const at::Tensor& dx,
             const at::Tensor& y) {
  with_element(x, [&](auto element) {
    using T = decltype(element);
    for_each_piece<T>(
        {.x = elements<const T>(x),
         .y = elements<T>(y),
         .gradient = elements<const T>(gradient),
         .dx = elements<T>(dx),
         .rows = rows_of(gradient),
         .columns = gradient.size(-1)},
        kind, kind.is_gated ? operations<T>().gated_backward : operations<T>().activation_backward);
  });
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
    go_back(x, gradients[0].contiguous(), saved_kind(context), dx, {});
    return {dx, {}};
  }
};

class LinearOfActivated : public torch::autograd::Function<LinearOfActivated> {
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
      const Timed timed(Operation::kActivation);
      y = wants_weight ? empty_result(x, kind) : y;
      dx = kind.is_gated ? at::empty_like(x) : dy;
      go_back(x, dy, kind, dx, y);
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
    const Timed timed(Operation::kActivation);
    return value(x, kind);
  }
};

}  // namespace

at::Tensor activate_gated(const at::Tensor& x, Activation activation) {
  const Timed timed(Operation::kActivation);
  TORCH_CHECK(x.dim() == 2 && x.size(1) % 2 == 0, "activate_gated expects (N, 2F), got ",
              x.sizes());
  if (!is_served(x)) {
    return x.is_cuda() ? gpu::activate_gated(x, activation)
                       : reference::activate_gated(x, activation);
  }
  return Activate::apply(x, Kind{.activation = activation, .is_gated = true});
}

at::Tensor activate(const at::Tensor& x, Activation activation) {
  const Timed timed(Operation::kActivation);
  return is_served(x) ? Activate::apply(x, Kind{.activation = activation, .is_gated = false})
                      : reference::activate(x, activation);
}

at::Tensor linear_of_activated(const at::Tensor& x,
                               Activation activation,
                               bool is_gated,
                               const at::Tensor& weight,
                               const at::Tensor& bias) {
  if (!is_served(x)) {
    return linear(is_gated ? activate_gated(x, activation) : activate(x, activation), weight, bias);
  }
  const Timed timed(Operation::kProducts);
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && x.size(1) == (is_gated ? 2 : 1) * weight.size(1),
              "linear_of_activated expects x (N, F), gated (N, 2F), and weight (D, F), got ",
              x.sizes(), " and ", weight.sizes());
  return LinearOfActivated::apply(x, Kind{.activation = activation, .is_gated = is_gated}, weight,
                                  optional(bias));
}

}  // namespace weft::kernels
