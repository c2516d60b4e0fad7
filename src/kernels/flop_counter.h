#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <mutex>

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Shape of a matrix product (rows, depth) x (depth, columns), and which sides are transposed
/// views.
struct ProductShape {
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t columns = 0;
  bool left_is_transposed = false;
  bool right_is_transposed = false;

  auto operator<=>(const ProductShape&) const = default;
};

/// Counts the floating-point operations of this library's matrix products and attention, forward
/// and backward, during its lifetime; a multiplication and its addition are two. Each operation
/// reports what it computes. All threads are counted, because the backward pass of a GPU runs on
/// threads of LibTorch; at most one counter exists at a time.
class FlopCounter {
 public:
  FlopCounter();
  FlopCounter(const FlopCounter&) = delete;
  FlopCounter& operator=(const FlopCounter&) = delete;
  ~FlopCounter();

  int64_t flops() const;
  /// The products of linear layers and of the output matrix, and how often each ran.
  std::map<ProductShape, int64_t> products() const;

  void add(int64_t flops);
  void add_product(const ProductShape& shape);
  /// The counter that exists now, or nullptr.
  static FlopCounter* current() { return active.load(std::memory_order_acquire); }

 private:
  static inline std::atomic<FlopCounter*> active{nullptr};

  mutable std::mutex mutex_;
  int64_t flops_ = 0;
  std::map<ProductShape, int64_t> products_;
};

/// Reports a product.
inline void count_product(const ProductShape& shape) {
  if (auto* const counter = FlopCounter::current(); counter != nullptr) {
    counter->add_product(shape);
  }
}

/// Reports a product a (N, K) b (K, F).
inline void count_product(const at::Tensor& a, const at::Tensor& b) {
  count_product({.rows = a.size(0),
                 .depth = a.size(1),
                 .columns = b.size(1),
                 .left_is_transposed = a.stride(1) != 1,
                 .right_is_transposed = b.stride(1) != 1});
}

/// Reports an operation whose backward pass is LibTorch's: `forward` now, and `backward` when the
/// gradient of its result `out` is there. Does nothing without a counter.
void count_with_backward(const at::Tensor& out, int64_t forward, int64_t backward);

}  // namespace weft::kernels
