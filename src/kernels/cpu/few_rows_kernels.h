// Products with few rows. Included only by per-level translation units.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/packing_kernels.h"
#include "kernels/cpu/product_types.h"
#include "kernels/cpu/rows.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline constexpr int kPanelVectors = kPanelColumns / kLanes;
/// Rows and vectors of columns at once, whose sums fit into the registers.
inline constexpr int kFewTile = 4;
inline constexpr int kFewVectors = kLanes == 16 ? kPanelVectors : 2;

/// Part of the depth of x, in fp32.
struct FewInputs {
  const float* x;
  int64_t row;  // strides
  int64_t depth;
};

/// The same part of up to a panel of columns: weights (size, columns), row stride `stride`.
template <class W>
struct FewColumns {
  const W* weight;
  int64_t stride;
  int64_t size;
};

/// Returns part of the depth of x: as it is, or widened into `wide`.
template <class T>
inline FewInputs inputs_at(const FewRows<T>& work, int64_t begin, int64_t size, float* wide) {
  const T* const x = work.x + begin * work.x_depth;
  if constexpr (std::is_same_v<T, float>) {
    return {.x = x, .row = work.x_row, .depth = work.x_depth};
  } else {
    const bool is_transposed = work.x_depth != 1;
    const int64_t rows = is_transposed ? size : work.out.rows;
    const int64_t columns = is_transposed ? work.out.rows : size;
    pack_rows(Pack<T, float>{.in = x,
                             .stride = is_transposed ? work.x_depth : work.x_row,
                             .rows = rows,
                             .columns = columns,
                             .out = wide,
                             .out_rows = rows,
                             .out_columns = columns});
    return {.x = wide, .row = is_transposed ? 1 : columns, .depth = is_transposed ? columns : 1};
  }
}

/// Returns the weight's columns starting at `column`, the first of a panel, for part of the depth.
template <class T>
inline FewColumns<T> columns_at(const FewRows<T>& work,
                                int64_t column,
                                int64_t begin,
                                int64_t size) {
  if (!work.weight_is_packed) {
    return {.weight = work.weight + begin * work.weight_stride + column,
            .stride = work.weight_stride,
            .size = size};
  }
  const int64_t width = panel_width(column, work.out.columns);
  return {
      .weight = work.weight + column * work.depth + begin * width, .stride = width, .size = size};
}

/// Adds a tile of rows' sum over that depth to its total, for some vectors of the columns: several
/// whole ones, or one of which only the first `count` columns are there. Products are added one by
/// one, as in the block kernel, so a row has the same bits as among many rows.
template <int kRows, int kVectors, class W>
inline void add_part(
    const FewInputs& in, const FewColumns<W>& columns, int64_t row, int count, float* total) {
  Vec part[kRows][kVectors];
  for (auto& vectors : part) {
    std::fill(vectors, vectors + kVectors, zero());
  }
  const float* x = in.x + row * in.row;
  const W* weight = columns.weight;
  for (int64_t k = 0; k < columns.size; ++k, x += in.depth, weight += columns.stride) {
    Vec right[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      right[v] = kVectors > 1 ? load(weight + v * kLanes) : load_up_to(weight, count);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const Vec left = set(x[r * in.row]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        part[r][v] = fma(left, right[v], part[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* const sum = total + r * kPanelColumns + v * kLanes;
      store(sum, part[r][v] + load(sum));
    }
  }
}

/// The same for all vectors of `width` columns.
template <int kRows, int kVectors, class W>
inline void add_columns(
    const FewInputs& in, FewColumns<W> columns, int64_t row, int64_t width, float* total) {
  for (; width >= kVectors * kLanes; width -= kVectors * kLanes) {
    add_part<kRows, kVectors>(in, columns, row, kLanes, total);
    columns.weight += kVectors * kLanes;
    total += kVectors * kLanes;
  }
  for (; width > 0; width -= kLanes) {
    add_part<kRows, 1>(in, columns, row, static_cast<int>(std::min<int64_t>(width, kLanes)), total);
    columns.weight += kLanes;
    total += kLanes;
  }
}

/// A single row reads the weights of a whole panel one after another, as they are in memory.
template <class W>
inline void add_rows(
    const FewInputs& in, const FewColumns<W>& columns, int64_t rows, int64_t width, float* total) {
  int64_t row = 0;
  for (; row + kFewTile <= rows; row += kFewTile) {
    add_columns<kFewTile, kFewVectors>(in, columns, row, width, total + row * kPanelColumns);
  }
  for (; row < rows; ++row) {
    add_columns<1, kPanelVectors>(in, columns, row, width, total + row * kPanelColumns);
  }
}

/// Computes the `width` columns of one panel.
template <class T>
inline void multiply_few(const FewRows<T>& work, int64_t column, int64_t width) {
  alignas(64) float wide[kMaxFewRows * kSumDepth];
  alignas(64) float packed[kSumDepth * kPanelColumns];
  alignas(64) float total[kMaxFewRows * kPanelColumns];
  std::fill(total, total + work.out.rows * kPanelColumns, 0.0F);
  for (int64_t begin = 0; begin < work.depth; begin += kSumDepth) {
    const int64_t size = std::min(kSumDepth, work.depth - begin);
    const auto inputs = inputs_at(work, begin, size, wide);
    if (work.weight_is_transposed) {
      pack_transposed(Pack<T, float>{.in = work.weight + column * work.weight_stride + begin,
                                     .stride = work.weight_stride,
                                     .rows = width,
                                     .columns = size,
                                     .out = packed,
                                     .out_rows = kPanelColumns,
                                     .out_columns = size});
      add_rows(inputs, FewColumns<float>{.weight = packed, .stride = kPanelColumns, .size = size},
               work.out.rows, width, total);
    } else {
      add_rows(inputs, columns_at(work, column, begin, size), work.out.rows, width, total);
    }
  }
  finish_product(part_of(work.out, 0, work.out.rows, column, width, total));
}

/// `begin` is the first column of a panel.
template <class T>
inline void few_rows(const FewRows<T>& work) {
  for (int64_t column = work.begin; column < work.end; column += kPanelColumns) {
    multiply_few(work, column, std::min(kPanelColumns, work.end - column));
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
