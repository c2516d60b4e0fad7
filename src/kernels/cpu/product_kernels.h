// Small matrix products of fp32 or bf16 pairs, into fp32. Included only by per-level units.
#pragma once

#include "kernels/cpu/rows.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

/// Number of products per term of a sum.
template <class Term>
inline constexpr int64_t kDepth = 1;
template <>
inline constexpr int64_t kDepth<Pair> = 2;

/// Element type of the terms of a row.
template <class Term>
struct ElementOf {
  using Type = float;
};
template <>
struct ElementOf<Pair> {
  using Type = Bf16;
};
template <class Term>
using Element = typename ElementOf<Term>::Type;

template <class Term>
inline int64_t terms_of(int64_t depth) {
  return (depth + kDepth<Term> - 1) / kDepth<Term>;
}

inline Vec spread(const float* x) { return set(*x); }

/// c (rows, columns) = factor * a (rows, depth) b (depth, columns), or factor * (c + a b) if
/// `adds`. Depth, a and b are counted in terms. Columns are padded to whole vectors; a may have any
/// strides, so it may be transposed.
template <class Term>
struct Product {
  int64_t rows;
  int64_t columns;
  int64_t depth;
  const Term* a;
  int64_t a_row;
  int64_t a_depth;
  const Term* b;
  int64_t b_stride;
  float* c;
  int64_t c_stride;
  bool adds = false;
  float factor = 1;
};

/// Epilogue of a product: scales and stores the sums of a tile.
struct StoreSums {
  template <class Term, int kRows, int kVectors>
  [[gnu::always_inline]] void operator()(const Product<Term>& p,
                                         int64_t row,
                                         int64_t column,
                                         Vec (&total)[kRows][kVectors]) const {
    const Vec factor = set(p.factor);
    float* const c = p.c + row * p.c_stride + column;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        store(c + r * p.c_stride + v * kLanes, total[r][v] * factor);
      }
    }
  }
};

template <int kRows, int kVectors, class Term, class Epilogue>
void multiply_tile(const Product<Term>& p, int64_t row, int64_t column, const Epilogue& epilogue) {
  Vec total[kRows][kVectors];
  const float* const c = p.c + row * p.c_stride + column;
  const int64_t c_stride = p.c_stride;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      total[r][v] = p.adds ? load(c + r * c_stride + v * kLanes) : zero();
    }
  }
  const Term* a = p.a + row * p.a_row;
  const Term* b = p.b + column;
  const int64_t a_row = p.a_row;
  const int64_t a_depth = p.a_depth;
  const int64_t b_stride = p.b_stride;
#pragma GCC unroll 2
  for (int64_t k = p.depth; k > 0; --k) {
    decltype(load(b)) right[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      right[v] = load(b + v * kLanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto left = spread(a + r * a_row);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        total[r][v] = fma(left, right[v], total[r][v]);
      }
    }
    a += a_depth;
    b += b_stride;
  }
  epilogue(p, row, column, total);
}

// Multiplies some vectors of columns; rows are split evenly, which avoids a thin last tile.
template <int kVectors, class Term, class Epilogue>
inline void multiply_columns(const Product<Term>& p, int64_t column, const Epilogue& epilogue) {
  constexpr int kMaxTileRows = kVectors < kTileVectors ? kTileRowsNarrow : kTileRows;
  const int64_t tiles = (p.rows + kMaxTileRows - 1) / kMaxTileRows;
  int64_t row = 0;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t rows = p.rows / tiles + (tile < p.rows % tiles ? 1 : 0);
    with_row_count<kMaxTileRows>(
        rows, [&](auto count) { multiply_tile<count, kVectors>(p, row, column, epilogue); });
    row += rows;
  }
}

template <class Term, class Epilogue = StoreSums>
inline void multiply(const Product<Term>& p, const Epilogue& epilogue = {}) {
  int64_t column = 0;
  for (; column + kTileVectors * kLanes <= p.columns; column += kTileVectors * kLanes) {
    multiply_columns<kTileVectors>(p, column, epilogue);
  }
  const int64_t left = (p.columns - column) / kLanes;
  if constexpr (kTileVectors > 3) {
    if (left == 3) {
      return multiply_columns<3>(p, column, epilogue);
    }
  }
  if constexpr (kTileVectors > 2) {
    if (left == 2) {
      return multiply_columns<2>(p, column, epilogue);
    }
  }
  if (left == 1) {
    multiply_columns<1>(p, column, epilogue);
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
