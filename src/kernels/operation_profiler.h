#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::kernels {

/// Kinds of operations for the breakdown of a step's time. A norm includes the dropout and residual
/// that are fused with it.
enum class Operation { kEmbedding, kMatmul, kAttention, kNorm, kActivation, kDropout, kLoss };
inline constexpr std::size_t kOperations = 7;

std::string_view name_of(Operation operation);

/// Accumulates the time spent in this library's operations on the thread that created it, forward
/// and backward, during its lifetime. Nested operations are charged exclusive time only.
class OperationProfiler {
 public:
  using Milliseconds = std::array<double, kOperations>;

  /// `wait`: blocks until the device has finished its queued work; empty on the CPU.
  explicit OperationProfiler(std::function<void()> wait = {});
  OperationProfiler(const OperationProfiler&) = delete;
  OperationProfiler& operator=(const OperationProfiler&) = delete;
  ~OperationProfiler();

  /// Returns the time since the last call, and resets it.
  Milliseconds take();

  void enter(Operation operation);
  void leave();
  /// Profiler of this thread, or nullptr.
  static OperationProfiler* current();

 private:
  void charge();

  std::function<void()> wait_;
  std::vector<Operation> running_;
  std::chrono::steady_clock::time_point mark_;
  Milliseconds spent_{};
  uint64_t backward_callback_ = 0;
};

/// Times one operation if a profiler is active; otherwise almost free.
class ScopedOperationTimer {
 public:
  explicit ScopedOperationTimer(Operation operation) : profiler_(OperationProfiler::current()) {
    if (profiler_ != nullptr) {
      profiler_->enter(operation);
    }
  }
  ScopedOperationTimer(const ScopedOperationTimer&) = delete;
  ScopedOperationTimer& operator=(const ScopedOperationTimer&) = delete;
  ~ScopedOperationTimer() {
    if (profiler_ != nullptr) {
      profiler_->leave();
    }
  }

 private:
  OperationProfiler* profiler_;
};

}  // namespace weft::kernels
