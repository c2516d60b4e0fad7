#include "batching/run_batches.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "kernels/parallel.h"

namespace weft::batching {
namespace {

std::vector<data::Example> examples_of(const std::vector<int64_t>& lengths) {
  std::vector<data::Example> examples;
  for (const auto length : lengths) {
    examples.emplace_back().ids.assign(static_cast<std::size_t>(length), 7);
  }
  return examples;
}

std::vector<std::vector<int64_t>> batches_of(const std::vector<int64_t>& lengths,
                                             std::optional<int64_t> batch_tokens) {
  std::mutex mutex;
  std::vector<std::vector<int64_t>> found;
  run_batches(examples_of(lengths), at::kCPU, batch_tokens, [&](const data::Batch& batch) {
    const std::lock_guard lock(mutex);
    found.push_back(batch.items);
  });
  return found;
}

/// Runs on a number of threads.
class RunBatches : public ::testing::TestWithParam<int> {
 protected:
  RunBatches() { at::set_num_threads(GetParam()); }
  ~RunBatches() override { at::set_num_threads(before_); }

 private:
  int before_ = at::get_num_threads();
};

TEST_P(RunBatches, AnExampleIsInOneBatchAndTheBudgetHolds) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 300; ++i) {
    lengths.push_back(i * 37 % 50);
  }
  lengths.push_back(400);
  std::map<int64_t, int> seen;
  for (const auto& items : batches_of(lengths, 200)) {
    int64_t tokens = 0;
    for (const auto item : items) {
      ++seen[item];
      tokens += lengths[static_cast<std::size_t>(item)];
    }
    EXPECT_TRUE(tokens <= 200 || items.size() == 1) << tokens;
  }
  for (int64_t i = 0; i < std::ssize(lengths); ++i) {
    EXPECT_EQ(seen[i], lengths[static_cast<std::size_t>(i)] > 0 ? 1 : 0) << i;
  }
}

TEST_P(RunBatches, HasNoGradientsOnAnyThread) {
  std::atomic<int> with_gradients = 0;
  run_batches(examples_of(std::vector<int64_t>(64, 100)), at::kCPU, {},
              [&](const data::Batch&) { with_gradients += at::GradMode::is_enabled() ? 1 : 0; });
  EXPECT_EQ(with_gradients, 0);
  EXPECT_TRUE(at::GradMode::is_enabled());
}

TEST_P(RunBatches, BeginsNoBatchAfterAnException) {
  std::atomic<int> runs = 0;
  EXPECT_THROW(run_batches(examples_of(std::vector<int64_t>(1000, 100)), at::kCPU, 100,
                           [&](const data::Batch&) {
                             ++runs;
                             throw std::runtime_error("out of memory");
                           }),
               std::runtime_error);
  EXPECT_LE(runs, GetParam());
}

TEST_P(RunBatches, WithEnoughBatchesEveryThreadHasItsOwn) {
  std::atomic<int> together = 0;
  std::atomic<int> alone = 0;
  std::atomic<int64_t> threads_of_a_batch = 0;
  run_batches(examples_of(std::vector<int64_t>(64, 100)), at::kCPU, {}, [&](const data::Batch&) {
    ++together;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (together < GetParam() && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    alone += together < GetParam() ? 1 : 0;
    threads_of_a_batch = kernels::parallel_threads();
  });
  EXPECT_EQ(alone, 0);
  EXPECT_GE(together, 8);  // of at most 512 + 100 tokens
  EXPECT_EQ(threads_of_a_batch, 1);
}

TEST_P(RunBatches, SharesASingleBatch) {
  int64_t threads = 0;
  run_batches(examples_of({3, 5}), at::kCPU, {},
              [&](const data::Batch&) { threads = kernels::parallel_threads(); });
  EXPECT_EQ(threads, GetParam());
}

TEST_P(RunBatches, LongBatchesComeFirstAndUseAllThreads) {
  const std::vector<int64_t> tokens = {10, 5000, 20, 4096, 30, 4097, 40, 50};
  std::mutex mutex;
  std::vector<std::size_t> order;
  std::map<std::size_t, int64_t> threads;
  run_concurrently(tokens, at::kCPU, [&](std::size_t i) {
    const std::lock_guard lock(mutex);
    order.push_back(i);
    threads[i] = kernels::parallel_threads();
  });
  ASSERT_EQ(order.size(), tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(threads.at(i), tokens[i] > 4096 ? GetParam() : 1) << i;
  }
  if (GetParam() > 1) {
    EXPECT_EQ(order[0], 1U);
    EXPECT_EQ(order[1], 5U);
  }
}

TEST_P(RunBatches, TheSourceOfATranslationCounts) {
  auto examples = examples_of(std::vector<int64_t>(20, 10));
  for (auto& example : examples) {
    example.source_ids.assign(50, 7);
  }
  std::mutex mutex;
  std::vector<int64_t> sizes;
  run_batches(examples, at::kCPU, 120, [&](const data::Batch& batch) {
    const std::lock_guard lock(mutex);
    sizes.push_back(batch.total_tokens());
  });
  EXPECT_EQ(sizes, std::vector<int64_t>(10, 120));
}

INSTANTIATE_TEST_SUITE_P(Threads, RunBatches, ::testing::Values(1, 2, 4));

TEST(RunBatchesInOrder, TheLongestComeFirst) {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  EXPECT_EQ(batches_of({2, 9, 5, 0, 5}, 10), (std::vector<std::vector<int64_t>>{{1}, {2, 4}, {0}}));
  at::set_num_threads(before);
}

}  // namespace
}  // namespace weft::batching
