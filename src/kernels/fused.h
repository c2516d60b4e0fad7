#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <ATen/core/Tensor.h>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cuda/kernel_table.h"
#include "kernels/parallel.h"
#include "kernels/random_bits.h"

/// Helpers shared by the fused operations: which tensors the kernels of a CPU or a GPU support, and
/// how to call those kernels with LibTorch tensors.
namespace weft::kernels {

inline bool has_kernel_type(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
}

/// Whether the vector kernels of a CPU support x.
inline bool has_vector_kernel(const at::Tensor& x) {
  return x.device().is_cpu() && has_kernel_type(x);
}

/// Whether the kernels of the CPU, or of the GPU, support x.
inline bool has_fused_kernel(const at::Tensor& x) {
  return has_vector_kernel(x) ||
         (x.is_cuda() && cuda::kernel_table() != nullptr && has_kernel_type(x));
}

/// Calls body(T{}) with the element type used by the vector kernels: float or cpu::Bf16.
template <class Body>
void dispatch_element_type(const at::Tensor& x, Body&& body) {
  if (x.scalar_type() == at::kFloat) {
    std::forward<Body>(body)(float{});
  } else {
    std::forward<Body>(body)(cpu::Bf16{});
  }
}

template <class T>
const cpu::Operations<T>& operations() {
  return cpu::operations_of<T>(cpu::kernel_table());
}

/// Kernels for the device of x.
template <class T>
const cpu::Operations<T>& operations(const at::Tensor& x) {
  return x.is_cuda() ? cuda::operations_of<T>(*cuda::kernel_table()) : operations<T>();
}

/// Pointer to the tensor's elements; null if it is undefined.
template <class T>
T* elements(const at::Tensor& x) {
  return x.defined() ? static_cast<T*>(x.data_ptr()) : nullptr;
}

/// Pointer to an element of the tensor, whose rows may be strided; null if it is undefined.
template <class T>
T* row_of(const at::Tensor& x, int64_t row, int64_t column = 0) {
  return x.defined() ? elements<T>(x) + row * x.stride(0) + column : nullptr;
}

/// Autograd functions do not accept undefined tensors as arguments.
inline std::optional<at::Tensor> optional(const at::Tensor& x) {
  return x.defined() ? std::optional<at::Tensor>(x) : std::nullopt;
}

/// For attention weights: of a sequence of the step and a head, numbered through the groups of the
/// sequence.
inline cpu::DropoutRng to_dropout_rng(const DropoutRule& rule,
                                      int64_t sequence = 0,
                                      int64_t head = 0) {
  return {.key = {rule.key[0], rule.key[1]},
          .threshold = rule.threshold,
          .scale = rule.scale,
          .second = static_cast<uint32_t>(sequence),
          .third = static_cast<uint32_t>(head)};
}

inline int64_t divide_up(int64_t x, int64_t by) { return (x + by - 1) / by; }
inline int64_t round_up(int64_t x, int64_t to) { return divide_up(x, to) * to; }

/// Elements that justify a separate thread.
inline constexpr int64_t kGrain = 16384;

inline int64_t row_grain(int64_t columns) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, columns));
}

/// Calls body(begin, end) for ranges that cover `items`, on several threads. A GPU, if x is there,
/// computes all of them in one call.
template <class Body>
void for_each_range(const at::Tensor& x, int64_t items, int64_t grain, const Body& body) {
  if (x.is_cuda()) {
    body(0, items);
  } else {
    parallel_for(0, items, grain, body);
  }
}

/// Calls body(block, begin, end) for blocks of `size` items. The blocks do not depend on the number
/// of threads.
template <class Body>
void for_each_block(int64_t items, int64_t size, const Body& body) {
  const int64_t blocks = divide_up(items, size);
  parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      body(block, block * size, std::min(items, (block + 1) * size));
    }
  });
}

/// Calls body(begin, end) for blocks of `size` items; on a GPU once, for all blocks.
template <class Body>
void for_each_block(const at::Tensor& x, int64_t items, int64_t size, const Body& body) {
  if (x.is_cuda()) {
    body(0, items);
  } else {
    for_each_block(items, size,
                   [&](int64_t /*block*/, int64_t begin, int64_t end) { body(begin, end); });
  }
}

}  // namespace weft::kernels
