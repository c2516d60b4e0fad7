#pragma once

#include <cstdint>
#include <limits>

namespace weft::train {

/// Counts the memory of tensors on the CPU during its lifetime; tensors made before are not
/// included. Every allocation costs a little more meanwhile, so only measurements use it. At most
/// one exists at a time.
class AllocationTracker {
 public:
  /// `limit`: bytes that may be allocated at once. An allocation beyond it throws as LibTorch's
  /// allocator does where the system refuses.
  explicit AllocationTracker(int64_t limit = std::numeric_limits<int64_t>::max());
  AllocationTracker(const AllocationTracker&) = delete;
  AllocationTracker& operator=(const AllocationTracker&) = delete;
  ~AllocationTracker();

  struct Counts {
    int64_t live = 0;  // bytes allocated now
    int64_t peak = 0;  // greatest `live` since the last reset
    int64_t allocations = 0;
    int64_t allocated = 0;  // bytes
  };
  /// Counts since the last reset, or since the beginning.
  Counts counts() const;
  void reset();
};

}  // namespace weft::train
