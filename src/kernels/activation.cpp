#include "kernels/activation.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"
#include "kernels/gpu.h"
#include "kernels/operation_clock.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class Activate : public torch::autograd::Function<Activate> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& given,
                            Activation activation) {
    const auto x = given.contiguous();
    context->save_for_backward({x});
    context->saved_data["activation"] = static_cast<int64_t>(activation);
    auto y = at::empty_like(x);
    with_element(x, [&](auto element) {
      using T = decltype(element);
      parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
        operations<T>().activation_forward(activation, elements<const T>(x) + begin,
                                           elements<T>(y) + begin, end - begin);
      });
    });
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto x = context->get_saved_variables()[0];
    const auto activation = static_cast<Activation>(context->saved_data["activation"].toInt());
    const auto gradient = gradients[0].contiguous();
    auto dx = at::empty_like(x);
    with_element(x, [&](auto element) {
      using T = decltype(element);
      parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
        operations<T>().activation_backward(activation, elements<const T>(x) + begin,
                                            elements<const T>(gradient) + begin,
                                            elements<T>(dx) + begin, end - begin);
      });
    });
    return {dx, {}};
  }
};

// Calls run(work) for pieces of the rows.
template <class T>
void for_each_piece(cpu::GatedRows<T> work,
                    Activation activation,
                    void (*run)(Activation, cpu::GatedRows<T>)) {
  const auto moved = [](auto* p, int64_t elements) { return p == nullptr ? p : p + elements; };
  parallel_for(0, work.rows, row_grain(2 * work.columns), [&](int64_t begin, int64_t end) {
    auto piece = work;
    piece.x = moved(work.x, begin * 2 * work.columns);
    piece.y = moved(work.y, begin * work.columns);
    piece.gradient = moved(work.gradient, begin * work.columns);
    piece.dx = moved(work.dx, begin * 2 * work.columns);
    piece.rows = end - begin;
    run(activation, piece);
  });
}

class ActivateGated : public torch::autograd::Function<ActivateGated> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& given,
                            Activation activation) {
    const auto x = given.contiguous();
    context->save_for_backward({x});
    context->saved_data["activation"] = static_cast<int64_t>(activation);
    auto y = at::empty({x.size(0), x.size(1) / 2}, x.options());
    with_element(x, [&](auto element) {
      using T = decltype(element);
      for_each_piece<T>({.x = elements<const T>(x),
                         .y = elements<T>(y),
                         .gradient = nullptr,
                         .dx = nullptr,
                         .rows = y.size(0),
                         .columns = y.size(1)},
                        activation, operations<T>().gated_forward);
    });
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto x = context->get_saved_variables()[0];
    const auto activation = static_cast<Activation>(context->saved_data["activation"].toInt());
    const auto gradient = gradients[0].contiguous();
    auto dx = at::empty_like(x);
    with_element(x, [&](auto element) {
      using T = decltype(element);
      for_each_piece<T>({.x = elements<const T>(x),
                         .y = nullptr,
                         .gradient = elements<const T>(gradient),
                         .dx = elements<T>(dx),
                         .rows = x.size(0),
                         .columns = x.size(1) / 2},
                        activation, operations<T>().gated_backward);
    });
    return {dx, {}};
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
  return ActivateGated::apply(x, activation);
}

at::Tensor activate(const at::Tensor& x, Activation activation) {
  const Timed timed(Operation::kActivation);
  return is_served(x) ? Activate::apply(x, activation) : reference::activate(x, activation);
}

}  // namespace weft::kernels
