// Products with few rows in fp32. Included only by per-level translation units.
#pragma once

#include <algorithm>

#include "kernels/cpu/packing_kernels.h"
#include "kernels/cpu/rows.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline constexpr int kPanelVectors = kPanelColumns / kLanes;
/// Rows and vectors of columns at once, whose sums fit into the registers.
inline constexpr int kFewTile = 4;
inline constexpr int kFewVectors = kLanes == 16 ? kPanelVectors : 2;

/// Part of the depth of up to a panel of columns: weights (size, columns), row stride `stride`.
struct FewColumns {
  const float* weight;
  int64_t stride;
  int64_t begin;
  int64_t size;
};

/// Returns the weight's columns starting at `column`, the first of a panel, for part of the depth.
inline FewColumns columns_at(const FewRows& work, int64_t column, int64_t begin) {
  const int64_t size = std::min(kSumDepth, work.depth - begin);
  if (!work.weight_is_packed) {
    return {.weight = work.weight + begin * work.weight_stride + column,
            .stride = work.weight_stride,
            .begin = begin,
            .size = size};
  }
  const int64_t width = panel_width(column, work.columns);
  return {.weight = work.weight + column * work.depth + begin * width,
          .stride = width,
          .begin = begin,
          .size = size};
}

/// Adds a tile of rows' sum over that depth to its total, for some vectors of the columns: several
/// whole ones, or one of which only the first `count` columns are there. Products are added one by
/// one, as in the block kernel, so a row has the same bits as among many rows.
template <int kRows, int kVectors>
inline void add_part(
    const FewRows& work, const FewColumns& columns, int64_t row, int count, Vec* total) {
  Vec part[kRows][kVectors];
  for (auto& vectors : part) {
    std::fill(vectors, vectors + kVectors, zero());
  }
  const float* x = work.x + row * work.x_row + columns.begin * work.x_depth;
  const float* weight = columns.weight;
  for (int64_t k = 0; k < columns.size; ++k, x += work.x_depth, weight += columns.stride) {
    Vec right[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      right[v] = kVectors > 1 ? load(weight + v * kLanes) : load_up_to(weight, count);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const Vec left = set(x[r * work.x_row]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        part[r][v] = fma(left, right[v], part[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      total[r * kPanelVectors + v] = part[r][v] + total[r * kPanelVectors + v];
    }
  }
}

/// The same for all vectors of `width` columns.
template <int kRows, int kVectors>
inline void add_columns(
    const FewRows& work, FewColumns columns, int64_t row, int64_t width, Vec* total) {
  for (; width >= kVectors * kLanes; width -= kVectors * kLanes) {
    add_part<kRows, kVectors>(work, columns, row, kLanes, total);
    columns.weight += kVectors * kLanes;
    total += kVectors;
  }
  for (; width > 0; width -= kLanes) {
    add_part<kRows, 1>(work, columns, row, static_cast<int>(std::min<int64_t>(width, kLanes)),
                       total++);
    columns.weight += kLanes;
  }
}

/// A single row reads the weights of a whole panel one after another, as they are in memory.
inline void add_rows(const FewRows& work, const FewColumns& columns, int64_t width, Vec* total) {
  int64_t row = 0;
  for (; row + kFewTile <= work.rows; row += kFewTile) {
    add_columns<kFewTile, kFewVectors>(work, columns, row, width, total + row * kPanelVectors);
  }
  for (; row < work.rows; ++row) {
    add_columns<1, kPanelVectors>(work, columns, row, width, total + row * kPanelVectors);
  }
}

/// Computes the `width` columns of one panel.
inline void multiply_few(const FewRows& work, int64_t column, int64_t width) {
  alignas(64) float packed[kSumDepth * kPanelColumns];
  Vec total[kMaxFewRows * kPanelVectors];
  std::fill(total, total + work.rows * kPanelVectors, zero());
  for (int64_t begin = 0; begin < work.depth; begin += kSumDepth) {
    auto columns = columns_at(work, column, begin);
    if (work.weight_is_transposed) {
      pack_transposed(Pack<float>{.in = work.weight + column * work.weight_stride + begin,
                                  .stride = work.weight_stride,
                                  .rows = width,
                                  .columns = columns.size,
                                  .out = packed,
                                  .out_rows = kPanelColumns,
                                  .out_columns = columns.size});
      columns.weight = packed;
      columns.stride = kPanelColumns;
    }
    add_rows(work, columns, width, total);
  }
  for (int64_t row = 0; row < work.rows; ++row) {
    float* const out = work.out + row * work.columns + column;
    for_each_vector(width, [&](int64_t i, int count) {
      const Vec bias = work.bias == nullptr ? zero() : load_up_to(work.bias + column + i, count);
      store_up_to(out + i, total[row * kPanelVectors + i / kLanes] + bias, count);
    });
  }
}

/// `begin` is the first column of a panel.
inline void few_rows(const FewRows& work) {
  for (int64_t column = work.begin; column < work.end; column += kPanelColumns) {
    multiply_few(work, column, std::min(kPanelColumns, work.end - column));
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
