#include "nn/growing_table.h"

#include <atomic>

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "base/threads.h"

namespace weft::nn {
namespace {

TEST(GrowingTable, IsComputedOnlyIfMoreRowsAreNeeded) {
  GrowingTable table;
  int computed = 0;
  const auto rows_for = [&](int64_t count) {
    return table
        .at_least(count, at::kCPU,
                  [&](int64_t rows) {
                    ++computed;
                    return at::arange(rows);
                  })
        .size(0);
  };
  EXPECT_GE(rows_for(0), 1);
  EXPECT_GE(rows_for(100), 100);
  EXPECT_EQ(computed, 1);
  const auto first = rows_for(100);
  EXPECT_EQ(rows_for(first + 1), 2 * first);
  EXPECT_EQ(rows_for(1000), 1000);
  EXPECT_EQ(rows_for(5), 1000);
  EXPECT_EQ(computed, 3);
}

TEST(GrowingTable, GrowsWhileOthersUseIt) {
  std::atomic<int> wrong = 0;
  for (int round = 0; round < 100; ++round) {
    GrowingTable table;
    const auto use = [&](int64_t count) {
      const auto found =
          table.at_least(count, at::kCPU, [](int64_t rows) { return at::arange(rows); });
      const auto last = found.size(0) - 1;
      wrong += last >= count - 1 && found[last].item<int64_t>() == last ? 0 : 1;
    };
    parallel_for(
        64, 1,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            use(200 * i);
          }
        },
        4);
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::nn
