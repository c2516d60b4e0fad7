#include "base/threads.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnce) {
  for (const int64_t count : {0, 1, 7, 1000}) {
    std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
    parallel_for(
        count, 3,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            ++visits[static_cast<std::size_t>(i)];
          }
        },
        4);
    for (const auto& visit : visits) {
      EXPECT_EQ(visit.load(), 1);
    }
  }
}

TEST(ParallelFor, RespectsItsGrainSize) {
  std::mutex mutex;
  std::multiset<int64_t> lengths;
  parallel_for(
      100, 30,
      [&](int64_t begin, int64_t end) {
        const std::lock_guard lock(mutex);
        lengths.insert(end - begin);
      },
      8);
  EXPECT_EQ(lengths, (std::multiset<int64_t>{10, 30, 30, 30}));
}

TEST(ParallelFor, ThrowsTheExceptionHere) {
  EXPECT_THROW(parallel_for(
                   100, 1,
                   [](int64_t begin, int64_t end) {
                     if (begin <= 42 && 42 < end) {
                       throw std::out_of_range("42");
                     }
                   },
                   3),
               std::out_of_range);
}

TEST(ParallelFor, StaysOnOneThreadWhenToldSo) {
  const auto here = std::this_thread::get_id();
  parallel_for(
      50, 1, [&](int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), here); }, 1);
}

TEST(AvailableCores, UsesOmpNumThreads) {
  const char* before = std::getenv("OMP_NUM_THREADS");
  const std::string kept = before == nullptr ? "" : before;
  ::unsetenv("OMP_NUM_THREADS");
  const int all = available_cores();
  EXPECT_GE(all, 1);
  ::setenv("OMP_NUM_THREADS", "1,2", 1);
  EXPECT_EQ(available_cores(), 1);
  ::setenv("OMP_NUM_THREADS", "1000000", 1);
  EXPECT_EQ(available_cores(), all);
  ::setenv("OMP_NUM_THREADS", "many", 1);
  EXPECT_EQ(available_cores(), all);
  ::unsetenv("OMP_NUM_THREADS");
  if (before != nullptr) {
    ::setenv("OMP_NUM_THREADS", kept.c_str(), 1);
  }
}

}  // namespace
}  // namespace weft
