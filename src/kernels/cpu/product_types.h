#pragma once

#include <cstdint>
#include <optional>

#include "kernels/cpu/types.h"

/// What the kernels of matrix products work on.
namespace weft::kernels::cpu {

/// Number of fp32 products added sequentially before the partial sums are added; longer sums would
/// have visible rounding errors.
inline constexpr int64_t kSumDepth = 128;
inline constexpr int64_t kMaxFewRows = 11;

/// Columns per panel of a packed right side; panels are stored one after another.
inline constexpr int64_t kPanelColumns = 64;
/// The width of the last panel is its columns rounded up to this step.
inline constexpr int64_t kPanelStep = 16;

/// Width of the panel that starts at column `begin` of `columns`. `static`, so that no unit uses a
/// copy that was compiled for another CPU level.
static inline int64_t panel_width(int64_t begin, int64_t columns) {
  const int64_t left = columns - begin;
  return left >= kPanelColumns ? kPanelColumns : (left + kPanelStep - 1) / kPanelStep * kPanelStep;
}

/// Part of a matrix to be packed for a product: `rows` times `columns` at `in`, with row stride
/// `stride`. The rest of `out` is filled with zeros. bf16 may be widened to fp32.
template <class In, class Out = In>
struct Pack {
  const In* in;
  int64_t stride;
  int64_t rows;
  int64_t columns;
  Out* out;
  int64_t out_rows;  // in the orientation of `in`
  int64_t out_columns;
};

/// out[i][j] = scale * sums[i][j] + bias[j], added to the existing value if `adds`; rounded once.
template <class T>
struct ProductRows {
  const float* sums = nullptr;
  int64_t sums_stride = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  T* out = nullptr;
  int64_t out_stride = 0;
  const T* bias = nullptr;  // or null
  float scale = 1;
  bool adds = false;
};

/// `rows` and `columns` of a result from `row` and `column` on, whose sums (rows, kPanelColumns)
/// are `sums`.
template <class T>
static inline ProductRows<T> part_of(ProductRows<T> whole,
                                     int64_t row,
                                     int64_t rows,
                                     int64_t column,
                                     int64_t columns,
                                     const float* sums) {
  whole.sums = sums;
  whole.sums_stride = kPanelColumns;
  whole.rows = rows;
  whole.columns = columns;
  whole.out += row * whole.out_stride + column;
  whole.bias = whole.bias == nullptr ? nullptr : whole.bias + column;
  return whole;
}

/// Product of rows (rows, depth) and a panel of the right side: of float (depth, width), of Bf16 in
/// pairs (depth / 2, width, 2).
template <class T>
struct PanelProduct {
  const T* a;
  int64_t a_row;  // strides; of pairs a_row is even, like the depth, and a_depth is 1
  int64_t a_depth;
  int64_t rows;
  int64_t depth;
  const T* b;
  int64_t width;      // whole vectors
  float* sums;        // (rows, kPanelColumns)
  bool adds_to_sums;  // accumulates into the existing sums
};

/// Destination of the final sums of a panel (its own `sums` field is ignored); nullopt keeps them
/// in PanelProduct::sums.
template <class T>
using PanelOutput = std::optional<ProductRows<T>>;

/// Columns `begin` to `end` of the product of x (rows, depth) and weight (depth, columns), with
/// sums in fp32, for up to kMaxFewRows rows.
template <class T>
struct FewRows {
  const T* x = nullptr;
  int64_t x_row = 0;  // strides; one of the two is 1
  int64_t x_depth = 0;
  const T* weight = nullptr;
  int64_t weight_stride = 0;          // of its rows in memory
  bool weight_is_transposed = false;  // stored as (columns, depth)
  bool weight_is_packed = false;      // stored in panels; the stride is unused
  int64_t depth = 0;
  int64_t begin = 0;
  int64_t end = 0;
  ProductRows<T> out{};  // all of the result; its own `sums` field is ignored
};

/// Quantizes rows of x, contiguous, to integers from -127 to 127, each row with its own scale:
/// x ~ scale * value. Out: as Int8Product reads them.
template <class T>
struct QuantizeRows {
  const T* x;
  std::optional<Activation> activation;  // applied first
  T* activated;                          // memory for a row of its values
  uint32_t* out;                         // (rows, groups)
  float* scales;                         // (rows)
  int64_t rows;
  int64_t columns;
  int64_t groups;
};

/// Columns per panel of an int8 weight.
inline constexpr int64_t kInt8Panel = 64;

/// out = (x W) * scale of the row * scale of the column + bias, for rows quantized to int8 and a
/// weight of int8; the sums of x W are exact. A 32-bit word of x is a group of values of a row, in
/// the form of the level (KernelTable::int8_group): two int16, or four uint8 plus 128. The weight
/// has panels (groups, kInt8Panel, values of a group). The last group and panel are padded with
/// zeros.
template <class T>
struct Int8Product {
  const uint32_t* x;  // (rows, groups)
  const float* row_scales;
  const int8_t* panels;
  const int32_t* offsets;  // added to the sums, for whole panels
  const float* column_scales;
  const float* bias;  // (columns) or null
  T* out;             // (rows, out_stride)
  int64_t out_stride;
  int64_t rows;
  int64_t columns;
  int64_t groups;  // of at most 2^17 values
};

}  // namespace weft::kernels::cpu
