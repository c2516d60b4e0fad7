// Products with few rows in fp32. Included only by per-level translation units.
#pragma once

#include <algorithm>

#include "kernels/cpu/packing_kernels.h"
#include "kernels/cpu/rows.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline constexpr int kFewVectors = 2;  // vectors of columns at once
inline constexpr int kFewTile = 4;     // rows

/// Part of the depth of a few columns: weights (depth, columns), row stride `stride`.
struct FewColumns {
  const float* weight;
  int64_t stride;
  int64_t begin;
  int64_t size;
  int count;  // columns in the vector if there is only one; several are always whole
};

/// Returns the weight's columns starting at `column`, for part of the depth.
inline FewColumns columns_at(const FewRows& work, int64_t column, int64_t begin, int count) {
  const int64_t size = std::min(kSumDepth, work.depth - begin);
  if (!work.weight_is_packed) {
    return {.weight = work.weight + begin * work.weight_stride + column,
            .stride = work.weight_stride,
            .begin = begin,
            .size = size,
            .count = count};
  }
  const int64_t panel = column / kPanelColumns * kPanelColumns;
  const int64_t width = panel_width(panel, work.columns);
  return {.weight = work.weight + panel * work.depth + begin * width + (column - panel),
          .stride = width,
          .begin = begin,
          .size = size,
          .count = count};
}

/// Adds a tile of rows' sum over that depth to its total. Products are added one by one, as in the
/// block kernel, so a row has the same bits as among many rows.
template <int kRows, int kVectors>
inline void add_part(const FewRows& work,
                     const FewColumns& columns,
                     int64_t row,
                     Vec (*total)[kFewVectors]) {
  Vec part[kRows][kVectors];
  for (auto& vectors : part) {
    std::fill(vectors, vectors + kVectors, zero());
  }
  const float* x = work.x + row * work.x_row + columns.begin * work.x_depth;
  const float* weight = columns.weight;
  for (int64_t k = 0; k < columns.size; ++k, x += work.x_depth, weight += columns.stride) {
    Vec right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      right[v] = kVectors > 1 ? load(weight + v * kLanes) : load_up_to(weight, columns.count);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const Vec left = set(x[r * work.x_row]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        part[r][v] = fma(left, right[v], part[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      total[row + r][v] = part[r][v] + total[row + r][v];
    }
  }
}

template <int kVectors>
inline void add_parts(const FewRows& work, const FewColumns& columns, Vec (*total)[kFewVectors]) {
  int64_t row = 0;
  for (; row + kFewTile <= work.rows; row += kFewTile) {
    add_part<kFewTile, kVectors>(work, columns, row, total);
  }
  for (; row < work.rows; ++row) {
    add_part<1, kVectors>(work, columns, row, total);
  }
}

/// Computes one panel of columns, with `count` columns in the last vector.
template <int kVectors>
void multiply_few(const FewRows& work, int64_t column, int count) {
  alignas(64) float packed[kSumDepth * kVectors * kLanes];
  Vec total[kMaxFewRows][kFewVectors];
  for (auto& vectors : total) {
    std::fill(vectors, vectors + kFewVectors, zero());
  }
  for (int64_t begin = 0; begin < work.depth; begin += kSumDepth) {
    auto columns = columns_at(work, column, begin, count);
    if (work.weight_is_transposed) {
      pack_transposed(Pack<float>{.in = work.weight + column * work.weight_stride + begin,
                                  .stride = work.weight_stride,
                                  .rows = (kVectors - 1) * kLanes + count,
                                  .columns = columns.size,
                                  .out = packed,
                                  .out_rows = kVectors * kLanes,
                                  .out_columns = columns.size});
      columns.weight = packed;
      columns.stride = kVectors * kLanes;
    }
    add_parts<kVectors>(work, columns, total);
  }
  for (int64_t row = 0; row < work.rows; ++row) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t out_column = column + v * kLanes;
      const Vec bias = work.bias == nullptr ? zero() : load_up_to(work.bias + out_column, count);
      store_up_to(work.out + row * work.columns + out_column, total[row][v] + bias, count);
    }
  }
}

inline void few_rows(const FewRows& work) {
  int64_t column = work.begin;
  for (; column + kFewVectors * kLanes <= work.end; column += kFewVectors * kLanes) {
    multiply_few<kFewVectors>(work, column, kLanes);
  }
  for (; column < work.end; column += kLanes) {
    multiply_few<1>(work, column, static_cast<int>(std::min<int64_t>(kLanes, work.end - column)));
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
