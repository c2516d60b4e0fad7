// Activations and their gradients. Included only by per-level translation units.
#pragma once

#include "kernels/cpu/math.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline constexpr float kGeluTanhCubic = 0.044715F;
inline constexpr float kGeluTanhFactor =
    1.59576912F;  // 2 sqrt(2 / pi): 0.5 (1 + tanh u) = sigmoid(2 u)

// Value and derivative of a function at one point. If only one is used, the compiler removes the
// other.
struct ValueAndDerivative {
  Vec value;
  Vec derivative;
};

struct Gelu {
  static ValueAndDerivative at(Vec x) {
    const Normal n = normal(x);
    return {.value = x * n.distribution, .derivative = fma(x, n.density, n.distribution)};
  }
};

struct ApproxGelu {
  static ValueAndDerivative at(Vec x) {
    const Normal n = approx_normal(x);
    return {.value = x * n.distribution, .derivative = fma(x, n.density, n.distribution)};
  }
};

// GELU variant whose error is hidden by rounding to T.
template <class T>
struct GeluFor {
  using Function = Gelu;
};
template <>
struct GeluFor<Bf16> {
  using Function = ApproxGelu;
};

struct GeluTanh {
  static ValueAndDerivative at(Vec x) {
    const Vec cubic = fma(x * x, set(kGeluTanhCubic), set(1.0F));
    const Sigmoid s = sigmoid(x * set(kGeluTanhFactor) * cubic);
    const Vec inner_derivative =
        set(kGeluTanhFactor) * fma(x * x, set(3.0F * kGeluTanhCubic), set(1.0F));
    return {.value = x * s.value,
            .derivative = fma(x * s.value * s.rest, inner_derivative, s.value)};
  }
};

struct Relu {
  static ValueAndDerivative at(Vec x) {
    return {.value = maximum(zero(), x), .derivative = where_less(zero(), x, set(1.0F), zero())};
  }
};

struct Silu {
  static ValueAndDerivative at(Vec x) {
    const Sigmoid s = sigmoid(x);
    return {.value = x * s.value, .derivative = s.value * fma(x, s.rest, set(1.0F))};
  }
};

struct Tanh {
  static ValueAndDerivative at(Vec x) {
    const Vec t = tanh(x);
    return {.value = t, .derivative = set(1.0F) - t * t};
  }
};

// Calls body(Function{}) with the activation's implementation for elements of type T.
template <class T, class Body>
inline void dispatch_activation(Activation activation, Body body) {
  switch (activation) {
    case Activation::kGelu:
      return body(typename GeluFor<T>::Function{});
    case Activation::kGeluTanh:
      return body(GeluTanh{});
    case Activation::kRelu:
      return body(Relu{});
    case Activation::kSilu:
      return body(Silu{});
    case Activation::kTanh:
      return body(Tanh{});
  }
}

template <class Function, class T>
inline void activate_row(Function /*function*/, const T* x, T* y, int64_t columns) {
  for_each_vector(columns, [&](int64_t i, int count) {
    store_up_to(y + i, Function::at(load_up_to(x + i, count)).value, count);
  });
}

// Flattened: out-of-line functions would pass vectors through memory, behind pending stores.
template <class T>
[[gnu::flatten]] void activation_forward(Activation activation, ActivationRows<T> work) {
  dispatch_activation<T>(activation, [&](auto function) {
    activate_row(function, work.x, work.y, work.rows * work.columns);
  });
}

template <class T, bool kWantsValue>
inline void activation_backward_of(Activation activation, const ActivationRows<T>& work) {
  dispatch_activation<T>(activation, [&](auto function) {
    for_each_vector(work.rows * work.columns, [&](int64_t i, int count) {
      const ValueAndDerivative at_x = decltype(function)::at(load_up_to(work.x + i, count));
      store_up_to(work.dx + i, load_up_to(work.gradient + i, count) * at_x.derivative, count);
      if constexpr (kWantsValue) {
        store_up_to(work.y + i, at_x.value, count);
      }
    });
  });
}

template <class T>
[[gnu::flatten]] void activation_backward(Activation activation, ActivationRows<T> work) {
  work.y == nullptr ? activation_backward_of<T, false>(activation, work)
                    : activation_backward_of<T, true>(activation, work);
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
