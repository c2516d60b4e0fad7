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

#include "base/memory.h"
#include "kernels/cpu/packing.h"
#include "kernels/cpu/table.h"
#include "kernels/cpu/types.h"

/// The product of one block: LibTorch's, whose sums stay in the nearest cache, or the level's own.
/// T: float or cpu::Bf16.
namespace weft::kernels {

template <class T>
constexpr int64_t kPartDepth = cpu::kSumDepth;  // of one call
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

/// Rows, columns, depth, stride of the rows, whether it adds, bytes of an element.
using BlockShape = std::array<int64_t, 6>;

#if defined(CPUBLAS_BRGEMM_BF16BF16F32) && defined(CPUBLAS_BRGEMM_F32F32F32)
inline const at::BFloat16* library_type(const cpu::Bf16* x) {
  return reinterpret_cast<const at::BFloat16*>(x);
}
inline const float* library_type(const float* x) { return x; }

/// LibTorch makes a kernel for every shape, and its library ends the process where there is no
/// memory for one. Throws std::bad_alloc instead, once for each thread and shape.
inline void make_sure_of_memory(const BlockShape& shape) {
  constexpr int64_t kOfKernel = int64_t{4} << 20U;  // some times as much as one takes
  static thread_local std::set<BlockShape> made;
  static thread_local BlockShape last{};
  if (shape == last) {
    return;
  }
  if (!made.contains(shape)) {
    if (!can_map(kOfKernel)) {
      throw std::bad_alloc();
    }
    made.insert(shape);
  }
  last = shape;
}

/// Part of the depth, from `k` on, for some rows.
template <class T>
void multiply_rows(const Block<T>& block, int64_t begin, int64_t rows, int64_t k) {
  const int64_t depth = std::min(kPartDepth<T>, block.depth - k);
  const bool adds = block.adds || k > 0;
  make_sure_of_memory({rows, block.columns, depth, block.a_stride, adds ? 1 : 0, sizeof(T)});
  at::native::cpublas::brgemm(
      rows, block.columns, depth, block.a_stride, block.columns, cpu::kPanelColumns, adds,
      library_type(block.a + begin * block.a_stride + k), library_type(block.b + k * block.columns),
      block.sums + begin * cpu::kPanelColumns, std::is_same_v<T, cpu::Bf16>);
}

template <class T>
void release_block_kernel() {
  at::native::cpublas::brgemm_release(std::is_same_v<T, cpu::Bf16>);
}
#else
template <class T>
void multiply_rows(const Block<T>&, int64_t, int64_t, int64_t) {
  TORCH_CHECK(false, "this LibTorch has no block product");
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

/// LibTorch makes a kernel per shape and keeps it: the rows of the last block are cut so that there
/// are few shapes.
template <class T>
void multiply_by_library(const Block<T>& block) {
  constexpr int64_t kStep = 12;
  const int64_t whole = block.rows / kStep * kStep;
  multiply_depth(block, 0, whole);
  multiply_depth(block, whole, block.rows - whole);
}

/// LibTorch's product uses tiles (AMX) where there are such, with which ours does not compete.
inline bool has_tiles() {
#if defined(__x86_64__)
  static const bool kHas = __builtin_cpu_supports("amx-bf16") != 0;
  return kHas;
#else
  return false;
#endif
}

/// `out`: where the sums go if nothing is added to them any more; otherwise they are kept.
template <class T>
void multiply_block(const Block<T>& block, const std::optional<cpu::ProductRows<T>>& out) {
  if constexpr (std::is_same_v<T, cpu::Bf16>) {
    const auto multiply_panel = cpu::table().multiply_panel;
    if (multiply_panel != nullptr && !has_tiles()) {
      return multiply_panel({.a = block.a,
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
  multiply_by_library(block);
  if (out) {
    cpu::finish_product(*out);
  }
}

}  // namespace weft::kernels
