// Quantization to int8, dequantization of product sums. Included only by per-level units.
#pragma once

#include "kernels/cpu/product_types.h"
#include "kernels/cpu/rows.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// Adding it to a float of up to 22 bits rounds that to the nearest integer (ties to even), which is
// then in the low bits.
inline constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23

// Divisor that maps the row's largest absolute value to kMax; NaN if the row contains a non-finite
// value.
template <class T>
inline float row_scale(const T* x, int64_t columns) {
  constexpr float kMax = 127.0F;
  Vec top = zero();
  Vec fault = zero();
  for_each_vector(columns, [&](int64_t i, int count) {
    const Vec value = load_up_to(x + i, count);
    top = maximum(top, absolute(value));
    fault = fma(value, zero(), fault);  // 0, unless a value is infinite or NaN
  });
  return largest(top) / kMax + sum(fault);
}

/// Quantizes each row independently: x ~ scale * out. Out: int8_t, or int16_t for int8_product.
template <class T, class Out>
void quantize_rows(const QuantizeRows<T, Out>& work) {
  for (int64_t row = 0; row < work.rows; ++row) {
    const T* x = work.x + row * work.columns;
    Out* out = work.out + row * work.out_stride;
    const float scale = row_scale(x, work.columns);
    const Vec factor = set(scale > 0.0F ? 1.0F / scale : 0.0F);
    for_each_vector(work.columns, [&](int64_t i, int count) {
      const Vec rounded = fma(load_up_to(x + i, count), factor, set(kRounder));
      int16_t words[kLanes];
      store_words(words, rounded);
      for (int lane = 0; lane < count; ++lane) {
        out[i + lane] = static_cast<Out>(words[lane]);
      }
    });
    work.scales[row] = scale;
  }
}

/// out = sum * scale of the row * scale of the column + bias.
template <class T>
void scale_sums(const ScaleSums<T>& work) {
  for (int64_t row = 0; row < work.rows; ++row) {
    const int32_t* sums = work.sums + row * work.sums_stride;
    T* out = work.out + row * work.out_stride;
    const Vec scale = set(work.row_scales[row]);
    for_each_vector(work.columns, [&](int64_t i, int count) {
      alignas(64) float wide[kLanes] = {};
      for (int lane = 0; lane < count; ++lane) {
        wide[lane] = static_cast<float>(sums[i + lane]);
      }
      const Vec bias = work.bias == nullptr ? zero() : load_up_to(work.bias + i, count);
      store_up_to(out + i, fma(load(wide) * scale, load_up_to(work.column_scales + i, count), bias),
                  count);
    });
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
