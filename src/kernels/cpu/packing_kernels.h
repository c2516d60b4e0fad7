// Packing and unpacking for blocked fp32 products. Included only by per-level translation units.
#pragma once

#include <algorithm>

#include "kernels/cpu/rows.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline void pack_rows(const Pack<float>& pack) {
  for (int64_t row = 0; row < pack.out_rows; ++row) {
    float* const out = pack.out + row * pack.out_columns;
    const int64_t columns = row < pack.rows ? pack.columns : 0;
    std::copy_n(pack.in + row * pack.stride, columns, out);
    std::fill(out + columns, out + pack.out_columns, 0.0F);
  }
}

/// Loads a square of `pack` starting at a row and a column; zeros outside the matrix.
inline void load_square(const Pack<float>& pack,
                        int64_t row,
                        int64_t column,
                        Vec (&square)[kLanes]) {
  const int count = static_cast<int>(std::clamp<int64_t>(pack.columns - column, 0, kLanes));
  for (int i = 0; i < kLanes; ++i) {
    square[i] = row + i < pack.rows && count > 0
                    ? load_up_to(pack.in + (row + i) * pack.stride + column, count)
                    : zero();
  }
}

inline void pack_transposed(const Pack<float>& pack) {
  for (int64_t column = 0; column < pack.out_columns; column += kLanes) {
    const int64_t width = std::min<int64_t>(kLanes, pack.out_columns - column);
    for (int64_t row = 0; row < pack.out_rows; row += kLanes) {
      const int count = static_cast<int>(std::min<int64_t>(kLanes, pack.out_rows - row));
      Vec square[kLanes];
      load_square(pack, row, column, square);
      transpose(square);
      for (int64_t i = 0; i < width; ++i) {
        store_up_to(pack.out + (column + i) * pack.out_rows + row, square[i], count);
      }
    }
  }
}

inline void finish_product(const ProductRows<float>& work) {
  const Vec scale = set(work.scale);
  for (int64_t row = 0; row < work.rows; ++row) {
    const float* sums = work.sums + row * work.sums_stride;
    float* out = work.out + row * work.out_stride;
    for_each_vector(work.columns, [&](int64_t i, int count) {
      Vec before = work.bias == nullptr ? zero() : load_up_to(work.bias + i, count);
      if (work.adds) {
        before = before + load_up_to(out + i, count);
      }
      store_up_to(out + i, fma(load_up_to(sums + i, count), scale, before), count);
    });
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
