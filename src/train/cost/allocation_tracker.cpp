#include "train/cost/allocation_tracker.h"

#include <atomic>
#include <cstddef>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

namespace weft::train {

namespace {

std::atomic<int64_t> live{0};
std::atomic<int64_t> peak{0};
std::atomic<int64_t> allocations{0};
std::atomic<int64_t> allocated{0};
std::atomic<int64_t> largest_live{std::numeric_limits<int64_t>::max()};  // the limit
std::atomic<int64_t> trackers{0};                                        // made so far

struct Block {
  c10::DataPtr data;
  int64_t size = 0;
  int64_t tracker = 0;  // only blocks of the present one are in `live`

  void uncount() const {
    if (tracker == trackers) {
      live -= size;
    }
  }
};

/// Blocks of the underlying allocator by address. They are not kept in the context of a DataPtr,
/// because some of LibTorch's code requires that context and memory are the same pointer.
struct Blocks {
  std::mutex mutex;
  std::unordered_map<void*, Block> by_address;
};

Blocks& blocks() {
  static auto* const all = new Blocks;  // outlives every tensor
  return *all;
}

/// Also frees blocks of another allocator: oneDNN frees some buffers through the current allocator
/// even if another one allocated them.
void release(void* memory);

/// Counts and forwards to the underlying allocator. Lives as long as the process, because tensors
/// may outlive the tracker.
class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const auto size = static_cast<int64_t>(bytes);
    TORCH_CHECK(size <= largest_live - live,
                "AllocationTracker: can't allocate memory: you tried to allocate ", size,
                " bytes.");
    auto given = underlying->allocate(bytes);
    void* const memory = given.get();
    const auto device = given.device();
    if (memory == nullptr) {
      return given;
    }
    add_block(std::move(given), size);
    ++allocations;
    allocated += size;
    const int64_t now = live += size;
    for (int64_t most = peak; most < now && !peak.compare_exchange_weak(most, now);) {
    }
    return {memory, memory, &release, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    underlying->copy_data(to, from, bytes);
  }

  c10::Allocator* underlying = nullptr;

 private:
  static void add_block(c10::DataPtr given, int64_t size) {
    const std::lock_guard lock(blocks().mutex);
    auto& by_address = blocks().by_address;
    if (const auto freed = by_address.find(given.get()); freed != by_address.end()) {
      freed->second.uncount();
      freed->second.data.release_context();
      by_address.erase(freed);
    }
    void* const memory = given.get();
    by_address.emplace(memory, Block{std::move(given), size, trackers});
  }
};

CountingAllocator& counting_allocator() {
  static CountingAllocator allocator;
  return allocator;
}

void release(void* memory) {
  auto& all = blocks();
  decltype(all.by_address)::node_type block;  // is freed outside the lock
  {
    const std::lock_guard lock(all.mutex);
    block = all.by_address.extract(memory);
  }
  if (block.empty()) {
    counting_allocator().underlying->raw_deallocate(memory);
    return;
  }
  block.mapped().uncount();
}

}  // namespace

AllocationTracker::AllocationTracker(int64_t limit) {
  ++trackers;
  live = 0;
  largest_live = limit;
  counting_allocator().underlying = c10::GetCPUAllocator();
  c10::SetCPUAllocator(&counting_allocator());
  reset();
}

AllocationTracker::~AllocationTracker() {
  c10::SetCPUAllocator(counting_allocator().underlying);
  largest_live = std::numeric_limits<int64_t>::max();
}

AllocationTracker::Counts AllocationTracker::counts() const {
  return {.live = live, .peak = peak, .allocations = allocations, .allocated = allocated};
}

void AllocationTracker::reset() {
  peak = live.load();
  allocations = 0;
  allocated = 0;
}

}  // namespace weft::train
