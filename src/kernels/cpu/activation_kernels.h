// Activations and their gradients. Included by the level's unit only.
#pragma once

#include "kernels/activation_kind.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline constexpr float kGeluTanhCubic = 0.044715F;
inline constexpr float kGeluTanhFactor =
    1.59576912F;  // 2 sqrt(2 / pi): 0.5 (1 + tanh u) = sigmoid(2 u)

struct Gelu {
  static Vec value(Vec x) { return x * normal(x).distribution; }
  static Vec slope(Vec x) {
    const Normal n = normal(x);
    return fma(x, n.density, n.distribution);
  }
};

struct RoughGelu {
  static Vec value(Vec x) { return x * rough_normal(x).distribution; }
  static Vec slope(Vec x) {
    const Normal n = rough_normal(x);
    return fma(x, n.density, n.distribution);
  }
};

// The one whose error the rounding of T hides.
template <class T>
struct GeluFor {
  using Function = Gelu;
};
template <>
struct GeluFor<Bf16> {
  using Function = RoughGelu;
};

struct GeluTanh {
  static Vec inner(Vec x) {
    return x * set(kGeluTanhFactor) * fma(x * x, set(kGeluTanhCubic), set(1.0F));
  }
  static Vec value(Vec x) { return x * sigmoid(inner(x)).value; }
  static Vec slope(Vec x) {
    const Sigmoid s = sigmoid(inner(x));
    const Vec inner_slope =
        set(kGeluTanhFactor) * fma(x * x, set(3.0F * kGeluTanhCubic), set(1.0F));
    return fma(x * s.value * s.rest, inner_slope, s.value);
  }
};

struct Relu {
  static Vec value(Vec x) { return maximum(zero(), x); }
  static Vec slope(Vec x) { return where_less(zero(), x, set(1.0F), zero()); }
};

struct Silu {
  static Vec value(Vec x) { return x * sigmoid(x).value; }
  static Vec slope(Vec x) {
    const Sigmoid s = sigmoid(x);
    return s.value * fma(x, s.rest, set(1.0F));
  }
};

struct Tanh {
  static Vec value(Vec x) { return tanh(x); }
  static Vec slope(Vec x) {
    const Vec t = tanh(x);
    return set(1.0F) - t * t;
  }
};

template <class Function, class T>
inline void apply_activation(const T* x, T* y, int64_t size) {
  for_each_vector(size, [&](int64_t i, int count) {
    store_up_to(y + i, Function::value(load_up_to(x + i, count)), count);
  });
}

template <class Function, class T>
inline void apply_slope(const T* x, const T* gradient, T* dx, int64_t size) {
  for_each_vector(size, [&](int64_t i, int count) {
    const Vec slope = Function::slope(load_up_to(x + i, count));
    store_up_to(dx + i, load_up_to(gradient + i, count) * slope, count);
  });
}

// Calls body(Function{}) with the function of that name for elements of type T.
template <class T, class Body>
inline void with_function(Activation activation, Body body) {
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

// Flattened: functions out of line would hand vectors over in memory, behind stores that wait.
template <class T>
[[gnu::flatten]] void activation_forward(Activation activation, const T* x, T* y, int64_t size) {
  with_function<T>(activation,
                   [&](auto function) { apply_activation<decltype(function)>(x, y, size); });
}

template <class T>
[[gnu::flatten]] void activation_backward(
    Activation activation, const T* x, const T* gradient, T* dx, int64_t size) {
  with_function<T>(activation,
                   [&](auto function) { apply_slope<decltype(function)>(x, gradient, dx, size); });
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
