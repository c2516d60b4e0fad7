#pragma once

#include "kernels/cpu/product_types.h"

/// Packing for a blocked product of bf16 pairs: element (k, j) of the right side next to
/// (k + 1, j). Only for processors that multiply bf16 (AVX512_BF16).
namespace weft::kernels::cpu {

/// (depth, columns) -> pairs (depth / 2, columns, 2). `out_rows` is even.
void pack_row_pairs(const Pack<Bf16>& pack);

/// (columns, depth) -> pairs (depth / 2, columns, 2). `out_columns` is even.
void pack_column_pairs(const Pack<Bf16>& pack);

/// (depth, columns) -> (columns, depth), without pairs.
void pack_transposed(const Pack<Bf16>& pack);

}  // namespace weft::kernels::cpu
