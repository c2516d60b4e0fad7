#include <set>

#include <gtest/gtest.h>

#include "data/datasets/causal_dataset.h"

namespace weft::data {
namespace {

using Ids = std::vector<int64_t>;

/// Item i: tokens 10 i, 10 i + 1, ... only the last one is predicted.
class Counting : public Dataset {
 public:
  int64_t size(int64_t /*epoch*/) const override { return 9; }
  int64_t length(int64_t /*epoch*/, int64_t item) const override { return 1 + item; }
  Example example(int64_t /*epoch*/, int64_t item) const override {
    Example example;
    for (int64_t i = 0; i <= item; ++i) {
      example.ids.push_back(10 * item + i);
      example.targets.push_back(10 * item + i + 1);
      example.target_positions.push_back(i);
    }
    return example;
  }
  std::string location(int64_t /*epoch*/, int64_t item) const override {
    return std::to_string(item);
  }
  uint64_t fingerprint() const override { return 1; }
};

std::shared_ptr<const Dataset> prefix_dataset_made(uint64_t seed = 1) {
  return make_prefix_dataset(std::make_shared<Counting>(), seed);
}

TEST(PrefixDataset, PredictsTheTokensAfterThePrefix) {
  const auto dataset = prefix_dataset_made();
  for (int64_t item = 0; item < dataset->size(0); ++item) {
    const auto example = dataset->example(0, item);
    EXPECT_EQ(static_cast<int64_t>(example.ids.size()), dataset->length(0, item));
    ASSERT_GE(example.prefix_length, 1);
    ASSERT_LE(example.prefix_length, item + 1);
    ASSERT_EQ(example.targets.size(), example.ids.size() - example.prefix_length + 1);
    EXPECT_EQ(example.targets.front(), 10 * item + example.prefix_length);
    EXPECT_EQ(example.target_positions.front(), example.prefix_length - 1);
    EXPECT_EQ(example.targets.back(), 10 * item + item + 1);
  }
}

TEST(PrefixDataset, ThePrefixLengthDependsOnEpochAndSeed) {
  std::set<int64_t> cuts;
  bool hangs_on_seed = false;
  for (int64_t epoch = 0; epoch < 200; ++epoch) {
    const auto cut = prefix_dataset_made()->example(epoch, 4).prefix_length;
    EXPECT_EQ(prefix_dataset_made()->example(epoch, 4).prefix_length, cut);
    hangs_on_seed = hangs_on_seed || prefix_dataset_made(2)->example(epoch, 4).prefix_length != cut;
    cuts.insert(cut);
  }
  EXPECT_EQ(cuts, (std::set<int64_t>{1, 2, 3, 4, 5}));  // every token but the first may begin it
  EXPECT_TRUE(hangs_on_seed);
  EXPECT_NE(prefix_dataset_made()->fingerprint(), Counting().fingerprint());
}

}  // namespace
}  // namespace weft::data
