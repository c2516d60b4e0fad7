#pragma once

#include <cstdint>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/types.h"

/// Packing and unpacking for a blocked product. In bf16, the right side stores the depth in pairs,
/// element (k, j) next to (k + 1, j), for processors that multiply bf16 (AVX512_BF16) only; in fp32
/// it is stored as (depth, columns).
namespace weft::kernels::cpu {

/// (depth, columns) -> pairs (depth / 2, columns, 2). `out_rows` is even.
void pack_rows(const Pack<Bf16>& pack);
inline void pack_rows(const Pack<float>& pack) { kernel_table().pack_rows(pack); }

/// (columns, depth) -> pairs (depth / 2, columns, 2). `out_columns` is even.
void pack_columns(const Pack<Bf16>& pack);
inline void pack_columns(const Pack<float>& pack) { kernel_table().pack_transposed(pack); }

/// (depth, columns) -> (columns, depth), without pairs.
void pack_transposed(const Pack<Bf16>& pack);
inline void pack_transposed(const Pack<float>& pack) { kernel_table().pack_transposed(pack); }

void finish_product(const ProductRows<Bf16>& rows);
inline void finish_product(const ProductRows<float>& rows) { kernel_table().finish_product(rows); }

}  // namespace weft::kernels::cpu
