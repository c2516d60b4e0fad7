// Products of rows quantized to int8 and int8 weights, with exact sums. Included only by per-level
// translation units. Handwritten: LibTorch's product repacks the weight in each call (2 to 7 times
// slower for up to 20 rows), and without VNNI it is 30 times slower than fp32.
#pragma once

#include <algorithm>

#include "kernels/cpu/activation_kernels.h"
#include "kernels/cpu/product_types.h"
#include "kernels/cpu/rows.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

/// Values of a row in a 32-bit word.
inline constexpr int64_t kInt8Group = sizeof(uint32_t) / sizeof(Int8Value);

// Divisor that maps the row's largest absolute value to kMax; NaN if the row contains a non-finite
// value.
template <class T>
inline float row_scale(const T* x, int64_t columns) {
  constexpr float kMax = 127.0F;
  Vec top = zero();
  for_each_vector(columns, [&](int64_t i, int count) {
    top = maximum_or_nan(top, absolute(load_up_to(x + i, count)));
  });
  return largest(top) / kMax + sum(top * zero());
}

template <class T>
inline void quantize_row(const QuantizeRows<T>& work, int64_t row, const T* x) {
  // Adding 1.5 * 2^23 to a float of up to 22 bits rounds that to the nearest integer (ties to
  // even), which is then in the low bits.
  constexpr float kRounder = 12582912.0F + kInt8Offset;
  uint32_t* const words = work.out + row * work.groups;
  words[work.groups - 1] = 0;
  auto* const out = reinterpret_cast<unsigned char*>(words);
  const float scale = row_scale(x, work.columns);
  const Vec factor = set(scale > 0.0F ? 1.0F / scale : 0.0F);
  for_each_vector(work.columns, [&](int64_t i, int count) {
    Int8Value values[kLanes];
    store_int8(values, fma(load_up_to(x + i, count), factor, set(kRounder)));
    const std::size_t bytes = count == kLanes ? sizeof(values) : count * sizeof(Int8Value);
    __builtin_memcpy(out + i * sizeof(Int8Value), values, bytes);
  });
  work.scales[row] = scale;
}

template <class T>
[[gnu::flatten]] void quantize_rows(const QuantizeRows<T>& work) {
  if (!work.activation) {
    for (int64_t row = 0; row < work.rows; ++row) {
      quantize_row(work, row, work.x + row * work.columns);
    }
    return;
  }
  dispatch_activation<T>(*work.activation, [&](auto function) {
    for (int64_t row = 0; row < work.rows; ++row) {
      activate_row(function, work.x + row * work.columns, work.activated, work.columns);
      quantize_row<T>(work, row, work.activated);
    }
  });
}

/// Dequantizes the sums of a tile: sum * scale of the row * scale of the column + bias.
template <class T, int kRows>
inline void store_int8_tile(const Int8Product<T>& work,
                            int64_t row,
                            int64_t column,
                            const Int (&total)[kRows][kTileVectors]) {
#pragma GCC unroll 4
  for (int v = 0; v < kTileVectors; ++v, column += kLanes) {
    const auto count =
        static_cast<int>(std::clamp<int64_t>(work.columns - column, 0, int64_t{kLanes}));
    if (count == 0) {
      return;
    }
    const Vec scale = load_up_to(work.column_scales + column, count);
    const Vec bias = work.bias == nullptr ? zero() : load_up_to(work.bias + column, count);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Vec sums = to_float(total[r][v]) * set(work.row_scales[row + r]);
      store_up_to(work.out + (row + r) * work.out_stride + column, fma(sums, scale, bias), count);
    }
  }
}

/// Multiplies some rows by the columns of a panel from `column`, as many as fit into the vectors.
template <int kRows, class T>
void multiply_int8_tile(const Int8Product<T>& work, int64_t row, int64_t column) {
  Int total[kRows][kTileVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) {
      total[r][v] = load(work.offsets + column + v * kLanes);
    }
  }
  const int64_t groups = work.groups;
  const int64_t inside = column % kInt8Panel;
  const uint32_t* x = work.x + row * groups;
  const int8_t* weight = work.panels + ((column - inside) * groups + inside) * kInt8Group;
  for (int64_t group = 0; group < groups; ++group) {
    Int right[kTileVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) {
      right[v] = load_int8(weight + v * kLanes * kInt8Group);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Int left = set_int(x[r * groups]);
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) {
        total[r][v] = add_products(total[r][v], left, right[v]);
      }
    }
    ++x;
    weight += kInt8Panel * kInt8Group;
  }
  store_int8_tile(work, row, column, total);
}

template <class T>
void int8_product(const Int8Product<T>& work) {
  for (int64_t column = 0; column < work.columns; column += kTileVectors * kLanes) {
    for (int64_t row = 0; row < work.rows; row += kTileRows) {
      with_row_count<kTileRows>(work.rows - row,
                                [&](auto rows) { multiply_int8_tile<rows>(work, row, column); });
    }
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
