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
  EXPECT_EQ(one.token_type_ids(3), widened(single.token_type_ids));
  EXPECT_EQ(one.num_special_tokens(), 2);

  const Sequence pair = tokenizer.sequence({5}, {6, 7});
  const SequenceTemplate two(tokenizer, true);
  EXPECT_EQ(joined({two.before(), {5}, two.between(), {6, 7}, two.after()}), widened(pair.ids));
  EXPECT_EQ(two.token_type_ids(1, 2), widened(pair.token_type_ids));
  EXPECT_EQ(two.num_special_tokens(), 3);
  EXPECT_EQ(two.token_type_ids(0, 0), widened(tokenizer.sequence({}, {}).token_type_ids));
}

TEST(Cut, LeavesTheEndThatTheTokenizerKeeps) {
  const auto left = [](int64_t max_tokens, const Tokenizer& tokenizer) {
    std::vector<int32_t> ids{5, 6, 7};
    truncate(ids, max_tokens, tokenizer);
    return ids;
  };
  const test::ToyTokenizer keeps_begin({"a", "b", "c"});
  const test::LeftTruncatingTokenizer keeps_end({"a", "b", "c"});
  EXPECT_EQ(left(2, keeps_begin), (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(left(2, keeps_end), (std::vector<int32_t>{6, 7}));
  EXPECT_EQ(left(0, keeps_end), std::vector<int32_t>());
  EXPECT_EQ(left(4, keeps_end), (std::vector<int32_t>{5, 6, 7}));
}

struct Cut {
  int64_t first, second, max_tokens, kept_first, kept_second;
};

// Values of tokenizers 0.23 with `longest_first`, as transformers calls it.
TEST(CutPair, EqualsLongestFirstOfTokenizers) {
  const std::vector<Cut> cuts = {
      {3, 4, 7, 3, 4},      {3, 4, 6, 3, 3},      {4, 3, 6, 3, 3}, {9, 2, 6, 4, 2},
      {2, 9, 6, 2, 4},      {5, 5, 5, 2, 3},      {9, 4, 5, 3, 2}, {4, 9, 5, 2, 3},
      {7, 1, 3, 2, 1},      {0, 9, 4, 0, 4},      {9, 0, 4, 4, 0}, {20, 20, 1, 0, 1},
      {12, 30, 25, 12, 13}, {13, 30, 25, 12, 13},
  };
  for (const Cut& truncate : cuts) {
    EXPECT_EQ(truncate_pair(truncate.first, truncate.second, truncate.max_tokens),
              (std::pair{truncate.kept_first, truncate.kept_second}))
        << truncate.first << " " << truncate.second << " " << truncate.max_tokens;
  }
}

}  // namespace
}  // namespace weft::data
