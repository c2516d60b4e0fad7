// Optimizer steps in one pass. Each element's result depends on that element only. Included only by
// per-level translation units.
#pragma once

#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// Returns the gradient times its scale; zeroes what was read while it is in the cache.
template <class T>
inline Vec consume_gradient(T* gradient, float scale, int64_t i, int count) {
  if (gradient == nullptr) {
    return zero() * set(scale);
  }
  const Vec g = load_up_to(gradient + i, count);
  store_up_to(gradient + i, zero(), count);
  return g * set(scale);
}

// The hardware prefetcher stops at page boundaries.
inline constexpr int64_t kPrefetchDistance = 512;

inline void store_parameter(float* master, Bf16* compute, int64_t i, Vec x, int count) {
  store_up_to(master + i, x, count);
  if (compute != nullptr) {
    store_up_to(compute + i, x, count);
  }
}

// Remainder of AdamW if gradient and moments are zero.
template <class T>
void adamw_decay(const AdamwSlice<T>& slice) {
  for_each_vector(slice.size, [&](int64_t i, int count) {
    const Vec master = load_up_to(slice.master + i, count) * set(slice.decay);
    store_parameter(slice.master, slice.compute, i, master, count);
  });
}

template <class T>
void adamw(AdamwSlice<T> slice) {
  if (slice.first == nullptr) {
    return adamw_decay(slice);
  }
  const Vec beta1 = set(slice.beta1);
  const Vec beta2 = set(slice.beta2);
  const Vec rest1 = set(1.0F - slice.beta1);
  const Vec rest2 = set(1.0F - slice.beta2);
  for_each_vector(slice.size, [&](int64_t i, int count) {
    prefetch(slice.first, i + kPrefetchDistance);
    prefetch(slice.second, i + kPrefetchDistance);
    prefetch(slice.master, i + kPrefetchDistance);
    prefetch(slice.gradient, i + kPrefetchDistance);
    const Vec g = consume_gradient(slice.gradient, slice.gradient_scale, i, count);
    const Vec first = fma(beta1, load_up_to(slice.first + i, count), rest1 * g);
    const Vec second = fma(beta2, load_up_to(slice.second + i, count), rest2 * g * g);
    const Vec denominator =
        fma(square_root(second), set(slice.second_correction), set(slice.epsilon));
    const Vec master = load_up_to(slice.master + i, count) * set(slice.decay) -
                       set(slice.step_size) * first / denominator;
    store_up_to(slice.first + i, first, count);
    store_up_to(slice.second + i, second, count);
    store_parameter(slice.master, slice.compute, i, master, count);
  });
}

template <class T>
void sgd(SgdSlice<T> slice) {
  for_each_vector(slice.size, [&](int64_t i, int count) {
    const Vec before = load_up_to(slice.master + i, count);
    Vec direction = consume_gradient(slice.gradient, slice.gradient_scale, i, count);
    if (slice.weight_decay != 0.0F) {
      direction = fma(before, set(slice.weight_decay), direction);
    }
    if (slice.first != nullptr) {
      direction = fma(load_up_to(slice.first + i, count), set(slice.momentum), direction);
      store_up_to(slice.first + i, direction, count);
    }
    store_parameter(slice.master, slice.compute, i, before - set(slice.lr) * direction, count);
  });
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
