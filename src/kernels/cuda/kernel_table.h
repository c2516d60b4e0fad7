#pragma once

#include "kernels/cpu/kernel_table.h"

/// The vectorised kernels of cpu/, for CUDA GPUs. They take the same arguments, with pointers to
/// the current device's memory, and give the same results up to rounding, the dropout masks
/// included. A call computes all rows; it is enqueued on the current stream, and the order of every
/// sum is fixed.
namespace weft::kernels::cuda {

/// Operations that a GPU computes otherwise are null.
struct KernelTable {
  cpu::Operations<float> single;
  cpu::Operations<cpu::Bf16> half;
};

/// Null in a build without nvcc.
const KernelTable* kernel_table();

template <class T>
const cpu::Operations<T>& operations_of(const KernelTable& table);
template <>
inline const cpu::Operations<float>& operations_of<float>(const KernelTable& table) {
  return table.single;
}
template <>
inline const cpu::Operations<cpu::Bf16>& operations_of<cpu::Bf16>(const KernelTable& table) {
  return table.half;
}

/// Rows that column_sum adds up to one row of sums.
inline constexpr int64_t kSumRows = 256;

/// Columns that the norms support.
inline constexpr int64_t kMaxNormColumns = 8192;

}  // namespace weft::kernels::cuda
