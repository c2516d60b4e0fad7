#pragma once

#include <cstdint>

#include "kernels/cpu/types.h"

/// The way to and from a product of bf16 whose right side holds its depth in pairs, element (k, j)
/// beside (k + 1, j): for processors that multiply bf16 (AVX512_BF16) alone.
namespace weft::kernels::cpu {

/// A part of a matrix that is laid out anew: `rows` times `columns` of it lie at `in`, `stride`
/// apart. What `out` has beyond them is filled with zeros.
struct Pack {
  const Bf16* in;
  int64_t stride;
  int64_t rows;
  int64_t columns;
  Bf16* out;
  int64_t out_rows;  // as they lie at `in`
  int64_t out_columns;
};

/// (depth, columns) -> pairs (depth / 2, columns, 2). `out_rows` is even.
void pack_rows(const Pack& pack);

/// (columns, depth) -> pairs (depth / 2, columns, 2). `out_columns` is even.
void pack_columns(const Pack& pack);

/// (depth, columns) -> (columns, depth), without pairs.
void pack_transposed(const Pack& pack);

/// out[i][j] = scale * sums[i][j] + bias[j], added to what is there where `adds`; rounded once.
struct ProductRows {
  const float* sums;
  int64_t sums_stride;
  int64_t rows;
  int64_t columns;
  Bf16* out;
  int64_t out_stride;
  const Bf16* bias;  // or null
  float scale;
  bool adds;
};

void finish_product(const ProductRows& rows);

}  // namespace weft::kernels::cpu
