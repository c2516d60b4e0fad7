#pragma once

#include "kernels/cpu/kernel_table.h"

/// The vectorised kernels of cpu/, for CUDA GPUs. They take the same arguments, with pointers to
/// the current device's memory, and give the same results up to rounding, the dropout masks
/// included. A call computes all rows; it is enqueued on the current stream, and the order of every
/// sum is fixed.
namespace weft::kernels::cuda {

/// Heads of rows rotated by the angles of the rows' positions. On a CPU attention rotates them.
template <class T>
struct RotateRows {
  const T* x;  // (rows, heads, width), the rows strided
  int64_t row_stride;
  int64_t rows;
  int64_t heads;
  int64_t width;
  const float* table;  // a rotary_table
  int64_t rotary_width;
  const int64_t* positions;  // (rows)
  float direction;           // 1, or -1 for the gradient
  T* out;                    // (rows, heads, width)
};

/// Operations that a GPU computes otherwise are null.
template <class T>
struct Operations : cpu::Operations<T> {
  void (*rotate)(RotateRows<T> work);
};

struct KernelTable {
  Operations<float> single;
  Operations<cpu::Bf16> half;
};

/// Null in a build without nvcc.
const KernelTable* kernel_table();

template <class T>
const Operations<T>& operations_of(const KernelTable& table);
template <>
inline const Operations<float>& operations_of<float>(const KernelTable& table) {
  return table.single;
}
template <>
inline const Operations<cpu::Bf16>& operations_of<cpu::Bf16>(const KernelTable& table) {
  return table.half;
}

/// Rows that column_sum adds up to one row of sums.
inline constexpr int64_t kSumRows = 256;

/// Columns that the norms support.
inline constexpr int64_t kMaxNormColumns = 8192;

}  // namespace weft::kernels::cuda
