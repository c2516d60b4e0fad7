// Exact products of int8 weights. Included only by per-level translation units. Handwritten:
// LibTorch's product needs VNNI, and is 30 times slower than fp32 without it.
#pragma once

#include "kernels/cpu/product_types.h"
#include "kernels/cpu/vector.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline constexpr int kInt8TileVectors = 2;
inline constexpr int kInt8TileRows = 4;

/// Multiplies some rows by the columns of a panel from `column`, as many as fit into the vectors.
template <int kRows>
inline void multiply_int8_tile(
    const Int8Product& work, const int8_t* panel, int64_t row, int64_t column, int32_t* sums) {
  Int total[kRows][kInt8TileVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kInt8TileVectors; ++v) {
      total[r][v] = set_int(0);
    }
  }
  const int16_t* x = work.x + row * work.x_stride;
  const int8_t* weight = panel + 2 * column;
  for (int64_t k = 0; k < work.depth; k += 2) {
    Int right[kInt8TileVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kInt8TileVectors; ++v) {
      right[v] = load_words(weight + v * kWords);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      uint32_t pair;
      __builtin_memcpy(&pair, x + r * work.x_stride, sizeof(pair));
      const Int left = set_int(pair);
#pragma GCC unroll 2
      for (int v = 0; v < kInt8TileVectors; ++v) {
        total[r][v] = add_products(total[r][v], left, right[v]);
      }
    }
    x += 2;
    weight += 2 * kInt8Panel;
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kInt8TileVectors; ++v) {
      store(sums + r * work.sums_stride + v * kLanes, total[r][v]);
    }
  }
}

inline void int8_product(const Int8Product& work) {
  const int64_t padded_depth = (work.depth + 1) / 2 * 2;
  for (int64_t column = 0; column < work.columns; column += kInt8TileVectors * kLanes) {
    const int64_t inside = column % kInt8Panel;
    const int8_t* const panel = work.panels + (column - inside) * padded_depth;
    for (int64_t row = 0; row < work.rows; row += kInt8TileRows) {
      int32_t* const sums = work.sums + row * work.sums_stride + column;
      switch (work.rows - row) {
        case 1:
          multiply_int8_tile<1>(work, panel, row, inside, sums);
          break;
        case 2:
          multiply_int8_tile<2>(work, panel, row, inside, sums);
          break;
        case 3:
          multiply_int8_tile<3>(work, panel, row, inside, sums);
          break;
        default:
          multiply_int8_tile<kInt8TileRows>(work, panel, row, inside, sums);
          break;
      }
    }
  }
}

/// The compiler makes vector instructions of the sum.
inline void int8_row(
    const int8_t* x, const int8_t* weight, int64_t outputs, int64_t depth, int32_t* sums) {
  for (int64_t output = 0; output < outputs; ++output, weight += depth) {
    int32_t sum = 0;
    for (int64_t i = 0; i < depth; ++i) {
      sum += int32_t{x[i]} * int32_t{weight[i]};
    }
    sums[output] = sum;
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
