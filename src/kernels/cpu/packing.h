#pragma once

#include <cstdint>

#include "kernels/cpu/table.h"
#include "kernels/cpu/types.h"

/// The way to and from a product in blocks. In bf16 its right side holds the depth in pairs,
/// element (k, j) beside (k + 1, j), for processors that multiply bf16 (AVX512_BF16) alone; in fp32
/// it lies (depth, columns).
namespace weft::kernels::cpu {

/// (depth, columns) -> pairs (depth / 2, columns, 2). `out_rows` is even.
void pack_rows(const Pack<Bf16>& pack);
inline void pack_rows(const Pack<float>& pack) { table().pack_rows(pack); }

/// (columns, depth) -> pairs (depth / 2, columns, 2). `out_columns` is even.
void pack_columns(const Pack<Bf16>& pack);
inline void pack_columns(const Pack<float>& pack) { table().pack_transposed(pack); }

/// (depth, columns) -> (columns, depth), without pairs.
void pack_transposed(const Pack<Bf16>& pack);
inline void pack_transposed(const Pack<float>& pack) { table().pack_transposed(pack); }

void finish_product(const ProductRows<Bf16>& rows);
inline void finish_product(const ProductRows<float>& rows) { table().finish_product(rows); }

}  // namespace weft::kernels::cpu
