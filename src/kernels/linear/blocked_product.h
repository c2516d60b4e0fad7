#pragma once

#include <cstdint>

#include "kernels/cpu/types.h"

namespace weft::kernels {

/// out (rows, columns) = scale * a b + bias, or added to out. Strides are those of the rows as they
/// lie. T: float or cpu::Bf16; sums are in fp32.
template <class T>
struct BlockedProduct {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  const T* a = nullptr;
  int64_t a_stride = 0;          // of several rows of bf16 even, as the depth
  bool a_is_transposed = false;  // a lies (depth, rows)
  const T* b = nullptr;
  int64_t b_stride = 0;
  bool b_is_transposed = false;  // b lies (columns, depth)
  const T* panels = nullptr;     // b as pack_right gives it, or null; a is not transposed then
  T* out = nullptr;
  int64_t out_stride = 0;
  const T* bias = nullptr;  // or null
  float scale = 1;
  bool adds = false;
};

/// Whether the processor has instructions that multiply bf16; each with AMX has them as well.
bool has_bf16_instructions();

/// The right side as blocks read it, once for many products: cpu::kPanelColumns to a panel, each of
/// all the depth. The size in elements.
template <class T>
int64_t packed_size(const BlockedProduct<T>& product);
template <class T>
void pack_right(const BlockedProduct<T>& product, T* out);

/// With LibTorch's block kernel, in blocks sized to the caches. An element's sum is formed in an
/// order that only the depth decides.
template <class T>
void multiply_blocked(const BlockedProduct<T>& product);

/// Whether multiply_blocked is right here: needs that kernel, for bf16 a processor that multiplies
/// it, for fp32 one with AVX2.
template <class T>
bool can_multiply_blocked();

}  // namespace weft::kernels
