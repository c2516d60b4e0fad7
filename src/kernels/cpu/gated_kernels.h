// Gated activations, with gradients (arXiv:2002.05202). Included only by per-level units.
#pragma once

#include "kernels/cpu/activation_kernels.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// Flattened for the same reason as activation_forward.
template <class T>
[[gnu::flatten]] void gated_forward(Activation activation, ActivationRows<T> work) {
  dispatch_activation<T>(activation, [&](auto function) {
    using Function = decltype(function);
    for (int64_t i = 0; i < work.rows; ++i) {
      const T* const x = work.x + i * 2 * work.columns;
      T* const y = work.y + i * work.columns;
      for_each_vector(work.columns, [&](int64_t c, int count) {
        const Vec gate = load_up_to(x + work.columns + c, count);
        store_up_to(y + c, Function::at(load_up_to(x + c, count)).value * gate, count);
      });
    }
  });
}

template <class T>
[[gnu::flatten]] void gated_backward(Activation activation, ActivationRows<T> work) {
  dispatch_activation<T>(activation, [&](auto function) {
    using Function = decltype(function);
    for (int64_t i = 0; i < work.rows; ++i) {
      const T* const x = work.x + i * 2 * work.columns;
      const T* const gradient = work.gradient + i * work.columns;
      T* const dx = work.dx + i * 2 * work.columns;
      T* const y = work.y == nullptr ? nullptr : work.y + i * work.columns;
      for_each_vector(work.columns, [&](int64_t c, int count) {
        const Vec inner = load_up_to(x + c, count);
        const Vec gate = load_up_to(x + work.columns + c, count);
        const Vec dy = load_up_to(gradient + c, count);
        const ValueAndDerivative at_x = Function::at(inner);
        store_up_to(dx + c, dy * gate * at_x.derivative, count);
        store_up_to(dx + work.columns + c, dy * at_x.value, count);
        if (y != nullptr) {
          store_up_to(y + c, at_x.value * gate, count);
        }
      });
    }
  });
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
