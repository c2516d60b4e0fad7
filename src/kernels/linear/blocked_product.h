#pragma once

#include <cstdint>

#include "kernels/cpu/product_types.h"

namespace weft::kernels {

/// a (rows, depth) times b (depth, columns). Strides are the row strides in memory. T: float or
/// cpu::Bf16; sums are in fp32.
template <class T>
struct BlockedProduct {
  int64_t depth = 0;
  const T* a = nullptr;
  int64_t a_stride = 0;          // of pairs with several rows even, like the depth
  bool a_is_transposed = false;  // stored as (depth, rows)
  const T* b = nullptr;
  int64_t b_stride = 0;
  bool b_is_transposed = false;  // stored as (columns, depth)
  const T* panels = nullptr;     // b packed by pack_right, or null; a must not be transposed then
  cpu::ProductRows<T> out{};     // all of the result; its own `sums` field is ignored
};

/// Whether bf16 is multiplied in pairs, by the processor's own instructions, which is faster than
/// fp32. Otherwise it is widened to fp32, which is as fast as fp32.
bool multiplies_bf16();

/// Packs the right side once for many products, in its own type: panels of cpu::kPanelColumns
/// columns, each over the full depth. Of `out`, only `columns` is used. packed_size() is in
/// elements.
template <class T>
int64_t packed_size(const BlockedProduct<T>& product);
template <class T>
void pack_right(const BlockedProduct<T>& product, T* out);

/// Blocks are sized to the caches. The summation order of an element depends only on the depth.
template <class T>
void multiply_blocked(const BlockedProduct<T>& product);

/// Whether to use multiply_blocked. Without AVX2, LibTorch's product is faster; with AMX, bf16
/// needs LibTorch's product of blocks.
template <class T>
bool can_multiply_blocked();

}  // namespace weft::kernels
