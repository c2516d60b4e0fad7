#include "nn/attention/scores/score_functions.h"

#include <cmath>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "nn/attention/attention.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kScoreWidth = 4;

std::shared_ptr<ScoreFunction> score_function(const std::string& type,
                                              const std::string& yaml = "{}",
                                              ScoreOptions options = {kScoreWidth, kScoreWidth}) {
  auto section = config::Document::parse(yaml, "score").root();
  const auto make = score_functions().at(type).read(section);
  section.reject_unread();
  auto score = make(options);
  test::fill_parameters(*score, 0.8);
  return score;
}

at::Tensor score_queries(int64_t width = kScoreWidth) {
  return (at::arange(2 * 3 * width, at::kFloat).view({1, 2, 3, width}) * 1.7).sin();
}
at::Tensor score_keys(int64_t width = kScoreWidth) {
  return (at::arange(2 * 5 * width, at::kFloat).view({1, 2, 5, width}) * 1.1).cos();
}

at::Tensor scores_of(ScoreFunction& score, const at::Tensor& queries, const at::Tensor& keys) {
  const auto context = test::context_of({0});
  return score.scores({.span = {.queries = queries.size(2), .keys = keys.size(2)},
                       .query = queries,
                       .key = score.prepared_keys(keys),
                       .context = context});
}

TEST(ScoreFunctions, GeneralWithTheIdentityIsTheDotProduct) {
  const auto general = score_function("general");
  test::set_parameters(*general, {{"query.weight", at::eye(kScoreWidth)}});
  const auto dot = score_function("dot");
  const auto expected = at::matmul(score_queries(), score_keys().transpose(2, 3));
  EXPECT_TRUE(test::near(scores_of(*dot, score_queries(), score_keys()), expected));
  EXPECT_TRUE(test::near(scores_of(*general, score_queries(), score_keys()), expected));
}

TEST(ScoreFunctions, GeneralTakesKeysOfAnotherWidth) {
  const auto general = score_function("general", "{}", {3, kScoreWidth});
  const auto weight = general->named_parameters()["query.weight"];  // (K, Q)
  const auto expected =
      at::matmul(at::matmul(score_queries(3), weight.t()), score_keys().transpose(2, 3));
  EXPECT_TRUE(test::near(scores_of(*general, score_queries(3), score_keys()), expected));
}

TEST(ScoreFunctions, ScaledDotDividesByTheRootOfTheWidth) {
  const auto dot = scores_of(*score_function("dot"), score_queries(), score_keys());
  const auto scaled = scores_of(*score_function("scaled_dot"), score_queries(), score_keys());
  EXPECT_TRUE(test::near(scaled, dot / std::sqrt(static_cast<double>(kScoreWidth))));
  EXPECT_TRUE(test::near(
      scores_of(*score_function("scaled_dot", "{}", {1, 1}), score_queries(1), score_keys(1)),
      scores_of(*score_function("dot", "{}", {1, 1}), score_queries(1), score_keys(1))));
}

TEST(ScoreFunctions, AdditiveIsTheConcatenationScoreOfASplitMatrix) {
  const auto additive = score_function("additive", "{width: 6}", {3, kScoreWidth});
  const auto p = additive->named_parameters();
  const auto joined = at::cat({p["query.weight"], p["key.weight"]}, 1);  // (A, Q + K)
  const auto found = scores_of(*additive, score_queries(3), score_keys());
  for (int64_t head = 0; head < 2; ++head) {
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 5; ++j) {
        const auto both = at::cat({score_queries(3)[0][head][i], score_keys()[0][head][j]});
        const auto expected =
            at::dot(p["vector"][0], at::tanh(at::mv(joined, both) + p["key.bias"]));
        EXPECT_NEAR(found[0][head][i][j].item<double>(), expected.item<double>(), 1e-5);
      }
    }
  }
}

TEST(ScoreFunctions, AdditiveWithTinyWeightsIgnoresTheQuery) {
  const auto additive = score_function("additive");
  {
    const at::NoGradGuard guard;
    for (auto& parameter : additive->parameters()) {
      parameter.mul_(1e-3);
    }
  }
  const auto weights = at::softmax(scores_of(*additive, score_queries(), score_keys()), 3);
  EXPECT_TRUE(test::near(weights.select(2, 0), weights.select(2, 1), 1e-7));
}

TEST(ScoreFunctions, LocationScoresPositions) {
  const auto location = score_function("location", "{positions: 7}");
  const auto weight = location->named_parameters()["query.weight"];
  const auto expected = at::matmul(score_queries(), weight.slice(0, 0, 5).t());
  EXPECT_TRUE(test::near(scores_of(*location, score_queries(), score_keys()), expected));
  EXPECT_TRUE(test::near(scores_of(*location, score_queries(), score_keys() + 1), expected));
  const auto short_one = score_function("location", "{positions: 4}");
  EXPECT_THROW(scores_of(*short_one, score_queries(), score_keys()), UserError);
}

TEST(ScoreFunctions, DotNeedsEqualWidths) {
  EXPECT_THROW(score_function("dot", "{}", {3, 4}), UserError);
  EXPECT_THROW(score_function("scaled_dot", "{}", {3, 4}), UserError);
}

std::shared_ptr<Attention> scored_attention(const std::string& yaml, bool is_causal) {
  auto section = config::Document::parse(yaml, "attention").root();
  const auto make = attention_types().at("scored").read(section);
  section.reject_unread();
  auto layer = make({.dim = 8, .heads = 2, .is_causal = is_causal, .dropout = 0});
  test::fill_parameters(*layer);
  return layer;
}

TEST(ScoredAttention, IsFullAttentionWithScaledDotProducts) {
  const auto x = (at::arange(7 * 8, at::kFloat).view({7, 8}) * 1.9).sin();
  const auto context = test::context_of({0, 3, 7});
  for (const bool is_causal : {false, true}) {
    const auto scored = scored_attention("{score: scaled_dot}", is_causal);
    const auto full =
        make_full_attention({.dim = 8, .heads = 2, .is_causal = is_causal, .dropout = 0});
    test::fill_parameters(*full);
    EXPECT_TRUE(test::near(scored->forward(x, context), full->forward(x, context)));
  }
}

TEST(ScoredAttention, MixesEachSequenceByItsAdditiveScores) {
  const auto layer = scored_attention("{score: additive, width: 3}", /*is_causal=*/true);
  const auto p = layer->named_parameters();
  const auto x = (at::arange(4 * 8, at::kFloat).view({4, 8}) * 1.9).sin();
  const auto qkv = at::linear(x, p["qkv.weight"], p["qkv.bias"]).chunk(3, 1);
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < 4; ++i) {
    std::vector<at::Tensor> heads;
    for (int64_t head = 0; head < 2; ++head) {
      const auto of_head = [&](const at::Tensor& all, int64_t row) {
        return all[row].slice(0, 4 * head, 4 * head + 4);
      };
      std::vector<at::Tensor> scores;
      std::vector<at::Tensor> values;
      for (int64_t j = 0; j <= i; ++j) {
        scores.push_back(at::dot(p["core.score.vector"][0],
                                 at::tanh(at::mv(p["core.score.query.weight"], of_head(qkv[0], i)) +
                                          at::mv(p["core.score.key.weight"], of_head(qkv[1], j)) +
                                          p["core.score.key.bias"])));
        values.push_back(of_head(qkv[2], j));
      }
      heads.push_back(at::matmul(at::softmax(at::stack(scores), 0), at::stack(values)));
    }
    rows.push_back(at::cat(heads));
  }
  const auto expected = at::linear(at::stack(rows), p["output.weight"], p["output.bias"]);
  EXPECT_TRUE(test::near(layer->forward(x, test::context_of({0, 4})), expected));
}

}  // namespace
}  // namespace weft::nn
