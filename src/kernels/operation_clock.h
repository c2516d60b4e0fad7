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

/// Kinds of operations that a step's time is told apart by. A norm has the dropout and the residual
/// that are fused with it.
enum class Operation { kEmbedding, kProducts, kAttention, kNorm, kActivation, kDropout, kLoss };
inline constexpr std::size_t kOperations = 7;

std::string_view name_of(Operation operation);

/// Adds up what the operations of this room take on the thread that made it, forward and backward,
/// from its beginning to its end. Of operations within one another each has its own share alone.
class OperationClock {
 public:
  using Milliseconds = std::array<double, kOperations>;

  /// `wait`: until the device has done what it was given; nothing on the CPU.
  explicit OperationClock(std::function<void()> wait = {});
  OperationClock(const OperationClock&) = delete;
  OperationClock& operator=(const OperationClock&) = delete;
  ~OperationClock();

  /// Since the last call.
  Milliseconds take();

  void enter(Operation operation);
  void leave();
  /// That of this thread, or nullptr.
  static OperationClock* current();

 private:
  void charge();

  std::function<void()> wait_;
  std::vector<Operation> running_;
  std::chrono::steady_clock::time_point mark_;
  Milliseconds spent_{};
  uint64_t backward_callback_ = 0;
};

/// One operation's time, where somebody wants to know it; else next to nothing.
class Timed {
 public:
  explicit Timed(Operation operation) : clock_(OperationClock::current()) {
    if (clock_ != nullptr) {
      clock_->enter(operation);
    }
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() {
    if (clock_ != nullptr) {
      clock_->leave();
    }
  }

 private:
  OperationClock* clock_;
};

}  // namespace weft::kernels
