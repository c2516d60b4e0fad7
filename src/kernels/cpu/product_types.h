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

/// Product of rows (rows, depth) and a panel of pairs (depth / 2, width, 2).
struct PanelProduct {
  const Bf16* a;
  int64_t a_stride;  // even, like the depth
  int64_t rows;
  int64_t depth;
  const Bf16* b;
  int64_t width;      // whole vectors
  float* sums;        // (rows, kPanelColumns)
  bool adds_to_sums;  // accumulates into the existing sums
  /// Destination of the final sums (its own `sums` field is ignored); nullopt keeps them in `sums`.
  std::optional<ProductRows<Bf16>> out;
};

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

/// Quantizes rows of x, contiguous, to int8, each with its own scale. Out: int8_t, or int16_t for
/// Int8Product.
template <class T, class Out>
struct QuantizeRows {
  const T* x;
  Out* out;
  int64_t out_stride;
  float* scales;  // (rows)
  int64_t rows;
  int64_t columns;
};

/// Columns per panel of an int8 weight.
inline constexpr int64_t kInt8Panel = 32;

/// Exact sums of the products of rows quantized to int8 and columns of a weight, whose panels are
/// pairs (panels, depth / 2, kInt8Panel, 2). An odd depth is padded with a zero.
struct Int8Product {
  const int16_t* x;  // (rows, x_stride)
  int64_t x_stride;
  const int8_t* panels;
  int32_t* sums;  // (rows, sums_stride)
  int64_t sums_stride;
  int64_t rows;
  int64_t columns;  // whole panels
  int64_t depth;    // at most 2^17
};

/// Dequantizes sums of int8 products.
template <class T>
struct ScaleSums {
  const int32_t* sums;  // (rows, sums_stride)
  int64_t sums_stride;
  const float* row_scales;
  const float* column_scales;
  const float* bias;  // (columns) or null
  T* out;
  int64_t out_stride;
  int64_t rows;
  int64_t columns;
};

}  // namespace weft::kernels::cpu
