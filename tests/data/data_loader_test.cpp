#include "data/data_loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "data/error.h"

namespace weft::data {
namespace {

/// Items of lengths 1 .. 9 whose ids encode epoch and item.
class CountingDataset : public Dataset {
 public:
  explicit CountingDataset(int64_t count) : count_(count) {}

  int64_t size(int64_t epoch) const override { return count_ + epoch % 2; }
  int64_t length(int64_t epoch, int64_t item) const override {
    return 1 + static_cast<int64_t>(
                   hash_combine(static_cast<uint64_t>(epoch), static_cast<uint64_t>(item)) % 9);
  }
  Example example(int64_t epoch, int64_t item) const override {
    if (epoch == 0 && item == fails_at) {
      throw Error("item 17 is broken");
    }
    if (sleeps) {
      std::this_thread::sleep_for(std::chrono::microseconds(100 * (item % 5)));
    }
    ++result;
    Example made_example;
    made_example.ids.assign(static_cast<std::size_t>(length(epoch, item)), 1000 * epoch + item);
    return made_example;
  }
  std::string location(int64_t /*epoch*/, int64_t item) const override {
    return std::to_string(item);
  }
  uint64_t fingerprint() const override { return 1; }

  int64_t fails_at = -1;
  bool sleeps = false;
  mutable std::atomic<int64_t> result = 0;

 private:
  int64_t count_;
};

bool operator==(const Batch& a, const Batch& b) {
  return a.items == b.items && a.ids == b.ids && a.offsets == b.offsets;
}

std::vector<StepBatches> steps_of(const std::shared_ptr<const Dataset>& dataset,
                                  const DataLoaderOptions& options,
                                  DataPosition begin = {}) {
  std::vector<StepBatches> steps;
  DataLoader loader(dataset, options, begin);
  while (auto step = loader.next()) {
    steps.push_back(std::move(*step));
  }
  return steps;
}

bool same(const StepBatches& a, const StepBatches& b) {
  return a.begin == b.begin && a.end == b.end && a.micro_batches.size() == b.micro_batches.size() &&
         std::equal(a.micro_batches.begin(), a.micro_batches.end(), b.micro_batches.begin(),
                    [](const Batch& x, const Batch& y) { return x == y; });
}

TEST(DataLoader, FillsTheBudgetGreedily) {
  const auto dataset = std::make_shared<CountingDataset>(500);
  const DataLoaderOptions options{.batch_tokens = 40, .epochs = 2};
  const auto steps = steps_of(dataset, options);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    ASSERT_EQ(steps[i].micro_batches.size(), 1U);
    const Batch& batch = steps[i].micro_batches[0];
    EXPECT_LE(batch.tokens(), 40);
    const DataPosition& end = steps[i].end;
    if (end.epoch == steps[i].begin.epoch) {  // the next item would not have fitted
      EXPECT_GT(batch.tokens() + dataset->length(end.epoch, item_at(options, *dataset, end)), 40);
    }
    EXPECT_EQ(steps[i].begin, i == 0 ? DataPosition{} : steps[i - 1].end);
  }
  EXPECT_EQ(steps.back().end, (DataPosition{2, 0}));
}

TEST(DataLoader, RanksTakeContiguousSharesOfAboutEqualTokens) {
  const auto dataset = std::make_shared<CountingDataset>(400);
  const auto alone = steps_of(dataset, {.batch_tokens = 100, .epochs = 2});
  for (const int64_t ranks : {1, 2, 3, 4}) {
    const auto steps = steps_of(dataset, {.batch_tokens = 100, .ranks = ranks, .epochs = 2});
    ASSERT_EQ(steps.size(), alone.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      ASSERT_EQ(steps[i].ranks.size(), steps[i].micro_batches.size());
      EXPECT_TRUE(std::is_sorted(steps[i].ranks.begin(), steps[i].ranks.end()));
      std::vector<int64_t> items;
      std::vector<int64_t> tokens(static_cast<std::size_t>(ranks));
      for (std::size_t j = 0; j < steps[i].ranks.size(); ++j) {
        const auto& batch = steps[i].micro_batches[j];
        items.insert(items.end(), batch.items.begin(), batch.items.end());
        tokens.at(static_cast<std::size_t>(steps[i].ranks[j])) += batch.tokens();
      }
      EXPECT_EQ(items, alone[i].micro_batches[0].items);  // in the order of one process
      const auto total = alone[i].micro_batches[0].tokens();
      for (const auto share : tokens) {
        EXPECT_LE(std::abs(share - total / ranks), 9 + 1);  // at most half an item at both ends
      }
    }
  }
}

TEST(DataLoader, AStepOfFewSequencesLeavesRanksWithoutWork) {
  const auto dataset = std::make_shared<CountingDataset>(10);
  for (const auto& step : steps_of(dataset, {.batch_sequences = 2, .ranks = 4, .epochs = 1})) {
    EXPECT_LE(step.micro_batches.size(), 2U);
    EXPECT_LT(step.ranks.back(), 4);
  }
}

TEST(DataLoader, SeesEachItemOfAnEpochOnce) {
  const auto dataset = std::make_shared<CountingDataset>(300);
  for (const bool shuffles : {true, false}) {
    std::vector<std::multiset<int64_t>> seen(2);
    std::vector<int64_t> first;
    for (const auto& step :
         steps_of(dataset, {.shuffles = shuffles, .batch_sequences = 7, .epochs = 2})) {
      for (const Batch& batch : step.micro_batches) {
        seen.at(static_cast<std::size_t>(step.begin.epoch))
            .insert(batch.items.begin(), batch.items.end());
        if (step.begin.epoch == 0) {
          first.insert(first.end(), batch.items.begin(), batch.items.end());
        }
        EXPECT_EQ(batch.ids.front(), 1000 * step.begin.epoch + batch.items.front());
      }
    }
    EXPECT_EQ(seen[0].size(), 300U);
    EXPECT_EQ(seen[1].size(), 301U);
    EXPECT_EQ(std::set<int64_t>(seen[1].begin(), seen[1].end()).size(), 301U);
    EXPECT_EQ(std::is_sorted(first.begin(), first.end()), !shuffles);
  }
}

TEST(DataLoader, StreamIsTheSameForEveryNumberOfWorkers) {
  const auto dataset = std::make_shared<CountingDataset>(400);
  DataLoaderOptions options{
      .batch_tokens = 60, .micro_batch_tokens = 25, .workers = 0, .epochs = 3};
  const auto expected = steps_of(dataset, options);
  dataset->sleeps = true;
  for (const int64_t workers : {1, 3}) {
    options.workers = workers;
    options.prefetch = workers == 3 ? 2 : 5;
    const auto steps = steps_of(dataset, options);
    ASSERT_EQ(steps.size(), expected.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_TRUE(same(steps[i], expected[i])) << i;
    }
  }
}

TEST(DataLoader, SkipsTheSkippedRanges) {
  const auto dataset = std::make_shared<CountingDataset>(60);
  DataLoaderOptions options{.shuffles = false, .batch_sequences = 4, .workers = 2, .epochs = 3};
  // Within an epoch, over the border of two, and two that overlap.
  options.skipped_ranges = {{.begin = {0, 10}, .end = {0, 12}},
                            {.begin = {0, 56}, .end = {1, 8}},
                            {.begin = {1, 6}, .end = {1, 12}}};
  const auto all = steps_of(dataset, options);
  std::vector<std::pair<int64_t, int64_t>> seen;
  for (const auto& step : all) {
    for (const auto item : step.micro_batches.front().items) {
      seen.emplace_back(step.begin.epoch, item);
    }
  }
  std::vector<std::pair<int64_t, int64_t>> expected;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    for (int64_t item = 0; item < dataset->size(epoch); ++item) {
      const bool is_out = epoch == 0   ? item == 10 || item == 11 || item >= 56
                          : epoch == 1 ? item < 12
                                       : false;
      if (!is_out) {
        expected.emplace_back(epoch, item);
      }
    }
  }
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(all[2].end, (DataPosition{0, 10})) << "a step ends before a stretch";
  for (std::size_t from = 0; from < all.size(); ++from) {
    const auto rest = steps_of(dataset, options, all[from].begin);
    ASSERT_EQ(rest.size(), all.size() - from);
    EXPECT_TRUE(same(rest.front(), all[from]));
  }
}

TEST(DataLoader, ResumesFromAnyPosition) {
  const auto dataset = std::make_shared<CountingDataset>(60);
  const DataLoaderOptions options{.batch_tokens = 30, .workers = 2, .epochs = 2};
  const auto all = steps_of(dataset, options);
  for (std::size_t from = 0; from < all.size(); ++from) {
    const auto rest = steps_of(dataset, options, all[from].begin);
    ASSERT_EQ(rest.size(), all.size() - from);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      EXPECT_TRUE(same(rest[i], all[from + i]));
    }
  }
  EXPECT_TRUE(steps_of(dataset, options, {2, 0}).empty());
  EXPECT_TRUE(same(steps_of(dataset, options, {0, 60}).front(),
                   steps_of(dataset, options, {1, 0}).front()));
}

TEST(DataLoader, SplitsMicroBatchesInOrder) {
  const auto dataset = std::make_shared<CountingDataset>(200);
  const auto whole = steps_of(dataset, {.batch_tokens = 90, .epochs = 1});
  const auto cut = steps_of(dataset, {.batch_tokens = 90, .micro_batch_tokens = 20, .epochs = 1});
  ASSERT_EQ(whole.size(), cut.size());
  for (std::size_t i = 0; i < cut.size(); ++i) {
    std::vector<int64_t> items;
    for (std::size_t k = 0; k < cut[i].micro_batches.size(); ++k) {
      const Batch& batch = cut[i].micro_batches[k];
      EXPECT_LE(batch.tokens(), 20);
      if (k + 1 < cut[i].micro_batches.size()) {
        EXPECT_GT(batch.tokens() + cut[i].micro_batches[k + 1].offsets[1], 20);
      }
      items.insert(items.end(), batch.items.begin(), batch.items.end());
    }
    EXPECT_EQ(items, whole[i].micro_batches[0].items);
  }
}

TEST(DataLoader, ItemLongerThanTheBudgetMakesItsOwnStep) {
  const auto dataset = std::make_shared<CountingDataset>(40);
  const auto steps = steps_of(dataset, {.batch_tokens = 2, .micro_batch_tokens = 1, .epochs = 1});
  int64_t items = 0;
  for (const auto& step : steps) {
    int64_t tokens = 0;
    int64_t sequences = 0;
    for (const Batch& batch : step.micro_batches) {
      EXPECT_EQ(batch.sequences(), 1);
      sequences += batch.sequences();
      tokens += batch.tokens();
    }
    EXPECT_TRUE(tokens <= 2 || sequences == 1);
    items += sequences;
  }
  EXPECT_EQ(items, 40);
}

TEST(DataLoader, CountsTheStepsOfAnEpoch) {
  const auto dataset = std::make_shared<CountingDataset>(1000);
  for (const DataLoaderOptions& options :
       {DataLoaderOptions{.batch_tokens = 40, .workers = 0, .epochs = 2},
        DataLoaderOptions{.batch_sequences = 7, .workers = 1, .epochs = 2}}) {
    const auto steps = steps_of(dataset, options);
    DataLoader loader(dataset, options);
    const int64_t first = loader.steps_per_epoch(0);
    EXPECT_EQ(first + loader.steps_per_epoch(1), static_cast<int64_t>(steps.size()));
    EXPECT_EQ(steps[static_cast<std::size_t>(first)].begin, (DataPosition{1, 0}));
  }
}

TEST(DataLoader, OrderChangesWithEpochAndSeed) {
  const CountingDataset dataset(1000);
  const auto order = [&](uint64_t seed, int64_t epoch) {
    std::vector<int64_t> items;
    for (int64_t position = 0; position < 1000; ++position) {
      items.push_back(item_at({.seed = seed, .batch_tokens = 1}, dataset, {epoch, position}));
    }
    return items;
  };
  EXPECT_EQ(order(1, 0), order(1, 0));
  EXPECT_NE(order(1, 0), order(1, 2));
  EXPECT_NE(order(1, 0), order(2, 0));
}

TEST(DataLoader, ThrowsWhatAWorkerThrewInItsPlaceAndAgain) {
  const auto dataset = std::make_shared<CountingDataset>(100);
  dataset->fails_at = 17;
  for (const int64_t workers : {0, 1, 3}) {
    DataLoader loader(dataset, {.shuffles = false, .batch_sequences = 5, .workers = workers});
    for (int64_t step = 0; step < 3; ++step) {
      ASSERT_TRUE(loader.next().has_value());
    }
    EXPECT_THROW(loader.next(), Error);
    EXPECT_THROW(loader.next(), Error);
  }
}

TEST(DataLoader, PrefetchesNoMoreThanRequested) {
  const auto dataset = std::make_shared<CountingDataset>(100000);
  {
    DataLoader loader(dataset, {.batch_sequences = 1, .workers = 3, .prefetch = 4});
    EXPECT_TRUE(loader.next().has_value());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_LE(dataset->result, 5);
    EXPECT_GT(loader.waited_ms(), 0);
  }
  EXPECT_LE(dataset->result, 5);  // and stops immediately when it is no longer needed
}

TEST(DataLoader, RepeatsForeverWithoutAnEpochLimit) {
  const auto dataset = std::make_shared<CountingDataset>(3);
  DataLoader loader(dataset, {.batch_sequences = 2, .workers = 2});
  DataPosition end;
  for (int step = 0; step < 500; ++step) {
    end = loader.next().value().end;
  }
  EXPECT_GT(end.epoch, 200);
}

TEST(DataLoader, RefusesNoItemsAndTwoBudgets) {
  DataLoader loader(std::make_shared<CountingDataset>(0), {.batch_tokens = 8});
  EXPECT_THROW(loader.next(), Error);
  const auto dataset = std::make_shared<CountingDataset>(5);
  EXPECT_THROW(DataLoader(dataset, {}), std::invalid_argument);
  EXPECT_THROW(DataLoader(dataset, {.batch_tokens = 8, .batch_sequences = 2}),
               std::invalid_argument);
}

}  // namespace
}  // namespace weft::data
