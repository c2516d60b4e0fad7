#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include <ATen/core/Tensor.h>

namespace weft::nn {

/// A table with a row per position, computed again when a longer sequence arrives. Batches may use
/// it at the same time.
class GrowingTable {
 public:
  /// The table on `device`, with at least `rows` rows: `make(rows)` computes it, on any device.
  template <class Make>
  at::Tensor at_least(int64_t rows, const at::Device& device, const Make& make) {
    const std::lock_guard lock(mutex_);
    const int64_t present = table_.defined() ? table_.size(0) : 0;
    if (present < std::max<int64_t>(rows, 1) || table_.device() != device) {
      constexpr int64_t kFewest = 128;
      table_ = make(std::max({rows, 2 * present, kFewest})).to(device);
    }
    return table_;
  }

 private:
  std::mutex mutex_;
  at::Tensor table_;
};

}  // namespace weft::nn
