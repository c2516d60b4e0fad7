#pragma once

#include <array>
#include <cstdint>
#include <new>
#include <set>

#include <ATen/native/CPUBlas.h>
#include <c10/util/Exception.h>

#include "base/machine.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/product_types.h"

/// LibTorch's product of one block of bf16 pairs, which uses AMX tiles; its sums stay in L1.
namespace weft::kernels {

/// Rows, columns, depth, row stride, whether it accumulates.
using BlockShape = std::array<int64_t, 5>;

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

#if defined(CPUBLAS_BRGEMM_BF16BF16F32)
/// Multiplies some of the rows.
inline void multiply_rows_with_amx(const cpu::PanelProduct<cpu::Bf16>& p,
                                   int64_t begin,
                                   int64_t rows) {
  if (rows == 0) {
    return;
  }
  const auto of_libtorch = [](const cpu::Bf16* x) {
    return reinterpret_cast<const at::BFloat16*>(x);
  };
  ensure_kernel_memory({rows, p.width, p.depth, p.a_row, p.adds_to_sums ? 1 : 0});
  at::native::cpublas::brgemm(rows, p.width, p.depth, p.a_row, p.width, cpu::kPanelColumns,
                              p.adds_to_sums, of_libtorch(p.a + begin * p.a_row), of_libtorch(p.b),
                              p.sums + begin * cpu::kPanelColumns,
                              /*is_vnni=*/true);
}

/// Releases the tiles, if there are any.
inline void release_amx() {
  if (cpu::has_amx()) {
    at::native::cpublas::brgemm_release(/*is_vnni=*/true);
  }
}
#else
inline void multiply_rows_with_amx(const cpu::PanelProduct<cpu::Bf16>&, int64_t, int64_t) {
  TORCH_CHECK(false, "this LibTorch has no block matrix product");
}

inline void release_amx() {}
#endif

/// LibTorch compiles a kernel per shape and keeps it. Splitting off the remainder rows keeps the
/// number of shapes small.
inline void multiply_with_amx(const cpu::PanelProduct<cpu::Bf16>& product,
                              const cpu::PanelOutput<cpu::Bf16>& out) {
  constexpr int64_t kStep = 12;
  const int64_t whole = product.rows / kStep * kStep;
  multiply_rows_with_amx(product, 0, whole);
  multiply_rows_with_amx(product, whole, product.rows - whole);
  if (out) {
    cpu::kernel_table().finish_product(*out);
  }
}

}  // namespace weft::kernels
