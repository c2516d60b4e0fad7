#pragma once

#include <cstdint>

#include "kernels/cpu/types.h"

namespace weft::kernels {

/// out (rows, columns) = scale * a b + bias, or added to out. Strides are those of the rows as they
/// lie. T: float or cpu::Bf16; sums are in fp32.
template <class T>
struct BlockedProduct {
  int64_t rows;
  int64_t columns;
  int64_t depth;
  const T* a;
  int64_t a_stride;
  bool a_is_transposed;  // a lies (depth, rows)
  const T* b;
  int64_t b_stride;
  bool b_is_transposed;  // b lies (columns, depth)
  T* out;
  int64_t out_stride;
  const T* bias;  // or null
  float scale;
  bool adds;
};

/// Whether the processor has instructions that multiply bf16; each with AMX has them as well.
bool has_bf16_instructions();

/// With LibTorch's block kernel, in blocks sized to the caches. An element's sum is formed in an
/// order that only the depth decides.
template <class T>
void multiply_blocked(const BlockedProduct<T>& product);

/// Whether multiply_blocked is right here: needs that kernel, for bf16 a processor that multiplies
/// it, for fp32 one with AVX2.
template <class T>
bool can_multiply_blocked();

}  // namespace weft::kernels
