#include "inference/predict.h"

#include <numeric>

#include <gtest/gtest.h>

#include "objectives/batches.h"
#include "support/toy_tokenizer.h"

namespace weft::inference {
namespace {

std::vector<std::string> words() {
  std::vector<std::string> list;
  for (char letter = 'a'; letter < 'a' + 25; ++letter) {
    list.emplace_back(1, letter);
  }
  return list;
}

const std::vector<PredictionRequest> kQueries = {
    {"a b c d e f g", {}}, {"x", {}}, {"m n o", {"p q"}}, {"", {}}, {"a b", {}}};

TEST(Predict, KeepsTheOrderAndDoesNotDependOnBatches) {
  const test::ToyTokenizer tokenizer(words());
  const auto model = models::make_model(test::tiny_model(models::Head::kSequence), 3);
  const auto together = predict(*model, tokenizer, kQueries);
  const auto apart = predict(*model, tokenizer, kQueries, {.batch_tokens = 1});
  ASSERT_EQ(together.size(), kQueries.size());
  for (std::size_t i = 0; i < kQueries.size(); ++i) {
    const auto alone = predict(*model, tokenizer, {kQueries[i]});
    ASSERT_EQ(together[i].scores.size(), 3U);
    EXPECT_NEAR(std::accumulate(together[i].scores.begin(), together[i].scores.end(), 0.0), 1,
                1e-9);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(together[i].scores[k], alone[0].scores[k], 1e-6);
      EXPECT_NEAR(apart[i].scores[k], alone[0].scores[k], 1e-6);
    }
  }
  EXPECT_NE(together[0].scores, together[1].scores);
}

TEST(Predict, FillsEachMaskWithTheBestTokensFirst) {
  const test::ToyTokenizer tokenizer(words());
  const auto model = models::make_model(test::tiny_model(models::Head::kMaskedLm), 3);
  const auto found =
      predict(*model, tokenizer, {{"a [MASK] c [MASK]", {}}, {"a b", {}}}, {.top_k = 4});
  ASSERT_EQ(found[0].mask_predictions.size(), 2U);
  EXPECT_TRUE(found[1].mask_predictions.empty());
  for (const auto& fills : found[0].mask_predictions) {
    ASSERT_EQ(fills.size(), 4U);
    for (std::size_t k = 0; k < fills.size(); ++k) {
      EXPECT_EQ(fills[k].token, tokenizer.piece(fills[k].id));
      EXPECT_TRUE(k == 0 || fills[k].score <= fills[k - 1].score);
    }
  }
}

TEST(Predict, LongTextsAreTruncatedAndReported) {
  const test::ToyTokenizer tokenizer(words());
  const auto model = models::make_model(test::tiny_model(models::Head::kSequence), 3);
  const auto found = predict(*model, tokenizer,
                             {{"a b c d e f g h i j k l m n o", {}}, {"a b c d e f g h i j", {}}});
  EXPECT_TRUE(found[0].was_truncated);  // 12 positions, two of them special
  EXPECT_FALSE(found[1].was_truncated);
  EXPECT_EQ(found[0].scores, found[1].scores);
}

TEST(Predict, TruncatesOnTheLeftLikeTheTokenizer) {
  const test::LeftTruncatingTokenizer tokenizer(words());
  const auto model = models::make_model(test::tiny_model(models::Head::kSequence), 3);
  const auto found = predict(*model, tokenizer,
                             {{"a b c d e f g h i j k l m n o", {}},
                              {"f g h i j k l m n o", {}},
                              {"a b c d e f g h", {"i j k l m n o p"}},
                              {"e f g h", {"l m n o p"}}});
  EXPECT_TRUE(found[0].was_truncated);
  EXPECT_EQ(found[0].scores, found[1].scores);
  EXPECT_TRUE(found[2].was_truncated);
  EXPECT_FALSE(found[3].was_truncated);
  EXPECT_EQ(found[2].scores, found[3].scores);
}

TEST(Predict, ARegressionGivesAValue) {
  auto options = test::tiny_model(models::Head::kSequence);
  options.labels.clear();
  options.is_regression = true;
  const auto model = models::make_model(options, 3);
  const test::ToyTokenizer tokenizer(words());
  const auto found = predict(*model, tokenizer, {{"a", {}}, {"b c", {}}});
  EXPECT_TRUE(found[0].scores.empty());
  ASSERT_EQ(found[0].values.size(), 1U);
  EXPECT_NE(found[0].values, found[1].values);
}

TEST(Predict, ModelWithoutThisHeadIsRefused) {
  const test::ToyTokenizer tokenizer(words());
  const auto model = models::make_model(test::tiny_model(models::Head::kNone), 3);
  EXPECT_THROW(predict(*model, tokenizer, {{"a", {}}}), UserError);
}

}  // namespace
}  // namespace weft::inference
