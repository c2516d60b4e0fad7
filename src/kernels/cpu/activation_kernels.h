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

// A function's value and slope at one place. Where one alone is read, the compiler leaves the other
// out.
struct Curve {
  Vec value;
  Vec slope;
};

struct Gelu {
  static Curve at(Vec x) {
    const Normal n = normal(x);
    return {.value = x * n.distribution, .slope = fma(x, n.density, n.distribution)};
  }
};

struct RoughGelu {
  static Curve at(Vec x) {
    const Normal n = rough_normal(x);
    return {.value = x * n.distribution, .slope = fma(x, n.density, n.distribution)};
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
  static Curve at(Vec x) {
    const Vec cubic = fma(x * x, set(kGeluTanhCubic), set(1.0F));
    const Sigmoid s = sigmoid(x * set(kGeluTanhFactor) * cubic);
    const Vec inner_slope =
        set(kGeluTanhFactor) * fma(x * x, set(3.0F * kGeluTanhCubic), set(1.0F));
    return {.value = x * s.value, .slope = fma(x * s.value * s.rest, inner_slope, s.value)};
  }
};

struct Relu {
  static Curve at(Vec x) {
    return {.value = maximum(zero(), x), .slope = where_less(zero(), x, set(1.0F), zero())};
  }
};

struct Silu {
  static Curve at(Vec x) {
    const Sigmoid s = sigmoid(x);
    return {.value = x * s.value, .slope = s.value * fma(x, s.rest, set(1.0F))};
  }
};

struct Tanh {
  static Curve at(Vec x) {
    const Vec t = tanh(x);
    return {.value = t, .slope = set(1.0F) - t * t};
  }
};

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
[[gnu::flatten]] void activation_forward(Activation activation, ActivationRows<T> work) {
  with_function<T>(activation, [&](auto function) {
    for_each_vector(work.rows * work.columns, [&](int64_t i, int count) {
      store_up_to(work.y + i, decltype(function)::at(load_up_to(work.x + i, count)).value, count);
    });
  });
}

template <class T, bool kWantsValue>
inline void activation_backward_of(Activation activation, const ActivationRows<T>& work) {
  with_function<T>(activation, [&](auto function) {
    for_each_vector(work.rows * work.columns, [&](int64_t i, int count) {
      const Curve curve = decltype(function)::at(load_up_to(work.x + i, count));
      store_up_to(work.dx + i, load_up_to(work.gradient + i, count) * curve.slope, count);
      if constexpr (kWantsValue) {
        store_up_to(work.y + i, curve.value, count);
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
