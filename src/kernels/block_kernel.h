#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <set>
#include <type_traits>

#include <ATen/native/CPUBlas.h>
#include <c10/util/Exception.h>

#include "base/machine.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/product_types.h"
#include "kernels/fused.h"

/// Product of one block: LibTorch's kernel, whose sums stay in L1, or the CPU level's own kernel.
/// T: float, or cpu::Bf16 for pairs of bf16.
namespace weft::kernels {

template <class T>
constexpr int64_t kPartDepth = cpu::kSumDepth;  // per kernel call
template <>
inline constexpr int64_t kPartDepth<cpu::Bf16> = std::numeric_limits<int64_t>::max();

template <class T>
struct Block {
  int64_t rows;
  int64_t columns;
  int64_t depth;
  const T* a;
  int64_t a_stride;
  const T* b;
  float* sums;  // (rows, cpu::kPanelColumns)
  bool adds;
};

/// Rows, columns, depth, row stride, whether it accumulates, bytes per element.
using BlockShape = std::array<int64_t, 6>;

#if defined(CPUBLAS_BRGEMM_BF16BF16F32) && defined(CPUBLAS_BRGEMM_F32F32F32)
inline const at::BFloat16* brgemm_type(const cpu::Bf16* x) {
  return reinterpret_cast<const at::BFloat16*>(x);
}
inline const float* brgemm_type(const float* x) { return x; }

/// LibTorch compiles a kernel for each shape, and its library aborts the process if it cannot
/// allocate one. This throws std::bad_alloc instead; it checks once per thread and shape.
inline void ensure_kernel_memory(const BlockShape& shape) {
  constexpr int64_t kKernelBytes = int64_t{4} << 20U;  // several times the size of one kernel
  static thread_local std::set<BlockShape> made;
  static thread_local BlockShape last{};
  if (shape == last) {
    return;
  }
  if (!made.contains(shape)) {
    if (!can_map(kKernelBytes)) {
      throw std::bad_alloc();
    }
    made.insert(shape);
  }
  last = shape;
}

/// Multiplies part of the depth, starting at `k`, for some rows.
template <class T>
void multiply_rows(const Block<T>& block, int64_t begin, int64_t rows, int64_t k) {
  const int64_t depth = std::min(kPartDepth<T>, block.depth - k);
  const bool adds = block.adds || k > 0;
  ensure_kernel_memory({rows, block.columns, depth, block.a_stride, adds ? 1 : 0, sizeof(T)});
  at::native::cpublas::brgemm(
      rows, block.columns, depth, block.a_stride, block.columns, cpu::kPanelColumns, adds,
      brgemm_type(block.a + begin * block.a_stride + k), brgemm_type(block.b + k * block.columns),
      block.sums + begin * cpu::kPanelColumns, std::is_same_v<T, cpu::Bf16>);
}

template <class T>
void release_block_kernel() {
  at::native::cpublas::brgemm_release(std::is_same_v<T, cpu::Bf16>);
}
#else
template <class T>
void multiply_rows(const Block<T>&, int64_t, int64_t, int64_t) {
  TORCH_CHECK(false, "this LibTorch has no block matrix product");
}

template <class T>
void release_block_kernel() {}
#endif

template <class T>
void multiply_depth(const Block<T>& block, int64_t begin, int64_t rows) {
  for (int64_t k = 0; rows > 0 && k < block.depth; k += std::min(kPartDepth<T>, block.depth)) {
    multiply_rows(block, begin, rows, k);
  }
}

/// LibTorch compiles a kernel per shape and keeps it. Splitting off the remainder rows keeps the
/// number of shapes small.
template <class T>
void multiply_with_brgemm(const Block<T>& block) {
  constexpr int64_t kStep = 12;
  const int64_t whole = block.rows / kStep * kStep;
  multiply_depth(block, 0, whole);
  multiply_depth(block, whole, block.rows - whole);
}

/// `out`: where the final sums are written; nullopt keeps them in `block.sums` for accumulation.
/// LibTorch's product uses AMX tiles where available; our kernel cannot compete with them.
template <class T, class Out>
void multiply_block(const Block<T>& block, const std::optional<cpu::ProductRows<Out>>& out) {
  if constexpr (std::is_same_v<T, cpu::Bf16>) {
    if (!cpu::has_amx()) {
      return cpu::kernel_table().multiply_panel({.a = block.a,
                                                 .a_stride = block.a_stride,
                                                 .rows = block.rows,
                                                 .depth = block.depth,
                                                 .b = block.b,
                                                 .width = block.columns,
                                                 .sums = block.sums,
                                                 .adds_to_sums = block.adds,
                                                 .out = out});
    }
  }
  multiply_with_brgemm(block);
  if (out) {
    operations<Out>().finish_product(*out);
  }
}

}  // namespace weft::kernels
