#pragma once

#include <cstdint>

namespace weft::train {

/// Counts the memory of tensors on the CPU from its beginning to its end; tensors that were made
/// before are not in it. Every allocation costs a little more meanwhile, so that only benches and
/// tests count. One at a time.
class AllocationTracker {
 public:
  AllocationTracker();
  AllocationTracker(const AllocationTracker&) = delete;
  AllocationTracker& operator=(const AllocationTracker&) = delete;
  ~AllocationTracker();

  struct Counts {
    int64_t live = 0;  // bytes
    int64_t peak = 0;  // of live, since the last mark
    int64_t allocations = 0;
    int64_t allocated = 0;  // bytes
  };
  /// Since the last mark.
  Counts counts() const;
  void reset();
};

}  // namespace weft::train
