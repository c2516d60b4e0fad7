#include "data/datasets/sequence_template.h"

#include <gtest/gtest.h>

#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

std::vector<int64_t> widened(const std::vector<int32_t>& values) {
  return {values.begin(), values.end()};
}

std::vector<int64_t> joined(const std::vector<std::vector<int64_t>>& parts) {
  std::vector<int64_t> all;
  for (const auto& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(SequenceTemplate, EqualsTheTokenizersSequence) {
  const test::ToyTokenizer tokenizer({"a", "b", "c"});
  const Sequence single = tokenizer.sequence({5, 6, 7});
  const SequenceTemplate one(tokenizer, false);
  EXPECT_EQ(joined({one.before(), {5, 6, 7}, one.after()}), widened(single.ids));
  EXPECT_EQ(one.types(3), widened(single.types));
  EXPECT_EQ(one.added(), 2);

  const Sequence pair = tokenizer.sequence({5}, {6, 7});
  const SequenceTemplate two(tokenizer, true);
  EXPECT_EQ(joined({two.before(), {5}, two.between(), {6, 7}, two.after()}), widened(pair.ids));
  EXPECT_EQ(two.types(1, 2), widened(pair.types));
  EXPECT_EQ(two.added(), 3);
  EXPECT_EQ(two.types(0, 0), widened(tokenizer.sequence({}, {}).types));
}

TEST(Cut, LeavesTheEndThatTheTokenizerKeeps) {
  const auto left = [](int64_t most, const Tokenizer& tokenizer) {
    std::vector<int32_t> ids{5, 6, 7};
    cut(ids, most, tokenizer);
    return ids;
  };
  const test::ToyTokenizer keeps_begin({"a", "b", "c"});
  const test::BeginCutter keeps_end({"a", "b", "c"});
  EXPECT_EQ(left(2, keeps_begin), (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(left(2, keeps_end), (std::vector<int32_t>{6, 7}));
  EXPECT_EQ(left(0, keeps_end), std::vector<int32_t>());
  EXPECT_EQ(left(4, keeps_end), (std::vector<int32_t>{5, 6, 7}));
}

struct Cut {
  int64_t first, second, room, kept_first, kept_second;
};

// Values of tokenizers 0.23 with `longest_first`, as transformers calls it.
TEST(CutPair, EqualsLongestFirstOfTokenizers) {
  const std::vector<Cut> cuts = {
      {3, 4, 7, 3, 4},      {3, 4, 6, 3, 3},      {4, 3, 6, 3, 3}, {9, 2, 6, 4, 2},
      {2, 9, 6, 2, 4},      {5, 5, 5, 2, 3},      {9, 4, 5, 3, 2}, {4, 9, 5, 2, 3},
      {7, 1, 3, 2, 1},      {0, 9, 4, 0, 4},      {9, 0, 4, 4, 0}, {20, 20, 1, 0, 1},
      {12, 30, 25, 12, 13}, {13, 30, 25, 12, 13},
  };
  for (const Cut& cut : cuts) {
    EXPECT_EQ(cut_pair(cut.first, cut.second, cut.room),
              (std::pair{cut.kept_first, cut.kept_second}))
        << cut.first << " " << cut.second << " " << cut.room;
  }
}

}  // namespace
}  // namespace weft::data
