#include "train/cost/allocation_tracker.h"

#include <vector>

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

namespace weft::train {
namespace {

// As oneDNN frees its buffers: by the allocator of that moment, not the one that allocated them.
TEST(AllocationTracker, EnduresThatAnotherAllocatorFrees) {
  auto* const before = c10::GetCPUAllocator()->raw_allocate(4096);
  void* during = nullptr;
  {
    const AllocationTracker memory;
    c10::GetCPUAllocator()->raw_deallocate(before);
    during = c10::GetCPUAllocator()->raw_allocate(4096);
  }
  c10::GetCPUAllocator()->raw_deallocate(during);
  const AllocationTracker memory;
  std::vector<at::Tensor> made;
  for (int i = 0; i < 50; ++i) {
    made.push_back(at::full({1024}, i));  // some at the addresses of the freed ones
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(made[static_cast<std::size_t>(i)].sum().item<double>(), 1024.0 * i);
  }
}

TEST(AllocationTracker, IgnoresTensorsOfAnEarlierTracker) {
  at::Tensor survivor;
  {
    const AllocationTracker before;
    survivor = at::empty({1000}, at::kFloat);
  }
  const AllocationTracker memory;
  EXPECT_EQ(memory.counts().live, 0);
  const auto kept = at::empty({10}, at::kFloat);
  survivor.reset();
  EXPECT_EQ(memory.counts().live, 40);
}

TEST(AllocationTracker, CountsAllocationsAndTheirEnd) {
  at::Tensor survivor;
  {
    AllocationTracker memory;
    const auto kept = at::empty({1000}, at::kFloat);
    survivor = at::empty({10}, at::kFloat);
    { const auto gone = at::empty({3000}, at::kFloat); }
    auto counts = memory.counts();
    EXPECT_EQ(counts.peak - counts.live, 12000);
    EXPECT_EQ(counts.allocations, 3);
    EXPECT_EQ(counts.allocated, 16040);
    memory.reset();
    counts = memory.counts();
    EXPECT_EQ(counts.peak, counts.live);
    EXPECT_EQ(counts.allocations, 0);
  }
  survivor.fill_(1);  // may outlive the tracker
}

TEST(AllocationTracker, RefusesMoreThanItsLimit) {
  {
    const AllocationTracker memory(8000);
    const auto kept = at::empty({1500}, at::kFloat);
    EXPECT_THROW(at::empty({501}, at::kFloat), c10::Error);
    at::empty({500}, at::kFloat);
  }
  at::empty({10000}, at::kFloat);  // there is no limit afterwards
}

}  // namespace
}  // namespace weft::train
