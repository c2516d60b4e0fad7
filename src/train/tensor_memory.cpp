#include "train/tensor_memory.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include <c10/core/CPUAllocator.h>

namespace weft::train {

namespace {

std::atomic<int64_t> live{0};
std::atomic<int64_t> peak{0};
std::atomic<int64_t> allocations{0};
std::atomic<int64_t> allocated{0};

/// What the allocator below gave, and how much it was.
struct Block {
  c10::DataPtr data;
  int64_t bytes = 0;
};

void release(void* context) {
  const std::unique_ptr<Block> block(static_cast<Block*>(context));
  live -= block->bytes;
}

/// Passes everything on to another allocator. Tensors may outlive the counting, so it lives as long
/// as the process.
class Counting : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const auto size = static_cast<int64_t>(bytes);
    auto block = std::make_unique<Block>(Block{.data = below->allocate(bytes), .bytes = size});
    ++allocations;
    allocated += size;
    const int64_t now = live += size;
    for (int64_t most = peak; most < now && !peak.compare_exchange_weak(most, now);) {
    }
    void* const data = block->data.get();
    const auto device = block->data.device();
    return {data, block.release(), &release, device};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    below->copy_data(to, from, bytes);
  }

  c10::Allocator* below = nullptr;
};

Counting& counting() {
  static Counting allocator;
  return allocator;
}

}  // namespace

TensorMemory::TensorMemory() {
  counting().below = c10::GetCPUAllocator();
  c10::SetCPUAllocator(&counting());
  mark();
}

TensorMemory::~TensorMemory() { c10::SetCPUAllocator(counting().below); }

TensorMemory::Counts TensorMemory::counts() const {
  return {.live = live, .peak = peak, .allocations = allocations, .allocated = allocated};
}

void TensorMemory::mark() {
  peak = live.load();
  allocations = 0;
  allocated = 0;
}

}  // namespace weft::train
