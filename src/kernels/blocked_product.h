#pragma once

#include <cstdint>

#include "kernels/cpu/types.h"

namespace weft::kernels {

/// out (rows, columns) = scale * a b + bias, or added to out. Strides are those of the rows as they
/// lie.
struct BlockedProduct {
  int64_t rows;
  int64_t columns;
  int64_t depth;
  const cpu::Bf16* a;
  int64_t a_stride;
  bool a_is_transposed;  // a lies (depth, rows)
  const cpu::Bf16* b;
  int64_t b_stride;
  bool b_is_transposed;  // b lies (columns, depth)
  cpu::Bf16* out;
  int64_t out_stride;
  const cpu::Bf16* bias;  // or null
  float scale;
  bool adds;
};

/// Whether the processor has instructions that multiply bf16; each with AMX has them as well.
bool has_bf16_instructions();

void multiply_blocked(const BlockedProduct& product);

/// Whether multiply_blocked is right here: needs LibTorch's block kernel and a processor that
/// multiplies bf16.
bool can_multiply_blocked();

}  // namespace weft::kernels
