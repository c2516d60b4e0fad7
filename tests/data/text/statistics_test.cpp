#include "data/text/statistics.h"

#include <gtest/gtest.h>

#include "data/fake_store.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

TEST(LengthCounts, CountsByPowersOfTwo) {
  LengthCounts lengths;
  for (const int64_t length : {7, 4, 1, 8, 2, 3}) {
    lengths.add(length);
  }
  EXPECT_EQ(lengths.count(), 6);
  EXPECT_EQ(lengths.total(), 25);
  EXPECT_EQ(lengths.shortest(), 1);
  EXPECT_EQ(lengths.longest(), 8);
  EXPECT_EQ(lengths.bucket(1), 1);
  EXPECT_EQ(lengths.bucket(2), 2);
  EXPECT_EQ(lengths.bucket(3), 2);
  EXPECT_EQ(lengths.bucket(4), 1);
  EXPECT_EQ(LengthCounts::bucket_min(0), 0);
  EXPECT_EQ(LengthCounts::bucket_min(1), 1);
  EXPECT_EQ(LengthCounts::bucket_min(4), 8);
}

TEST(StoreStatistics, FindsUnknownAndRepeated) {
  const test::FakeStore store({{{5, 1, 6}, {7}}, {{7}, {1, 1}, {7}}});
  const StoreStatistics found = store_statistics(store, 1);
  EXPECT_EQ(found.documents.count(), 2);
  EXPECT_EQ(found.documents.longest(), 4);
  EXPECT_EQ(found.sentences.count(), 5);
  EXPECT_EQ(found.sentences.total(), 8);
  EXPECT_EQ(found.unknown, 3);
  EXPECT_EQ(found.repeated, 2);
}

TEST(DatasetStatistics, CountsTheTokensSeenByTheModel) {
  const auto tokenizer = std::make_shared<test::ToyTokenizer>(std::vector<std::string>{}, 1000);
  const auto dataset = make_language_dataset({test::source(test::counted_documents(50, 1, 10))}, {},
                                             {.length = 16, .mask = MaskOptions{}}, tokenizer);
  const DatasetStatistics all = dataset_statistics(*dataset, 0, 1, 1000);
  int64_t tokens = 0;
  int64_t targets = 0;
  for (int64_t item = 0; item < 50; ++item) {
    tokens += dataset->length(0, item);
    targets += static_cast<int64_t>(dataset->example(0, item).targets.size());
  }
  EXPECT_EQ(all.sequences.count(), 50);
  EXPECT_EQ(all.sequences.total(), tokens);
  EXPECT_EQ(all.targets, targets);
  EXPECT_TRUE(all.labels.empty());
  EXPECT_EQ(dataset_statistics(*dataset, 0, 1, 20).sequences.count(), 20);
}

}  // namespace
}  // namespace weft::data
