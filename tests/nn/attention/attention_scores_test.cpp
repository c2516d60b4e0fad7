#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "nn/attention/attention_layers.h"
#include "support/context.h"
#include "support/tensors.h"

/// Attention with scores of other kinds: where it is full attention, and its formulas.
namespace weft::nn {
namespace {

TEST(AttentionLimits, GaussianPriorsFadeAway) {
  for (const bool is_causal : {false, true}) {
    const auto full = test::attention_layer("type: full", test::attention_options(is_causal));
    const auto prior = test::attention_layer("type: gaussian", test::attention_options(is_causal));
    const at::NoGradGuard guard;
    for (auto& parameter : prior->named_parameters()) {
      const auto* value = full->named_parameters().find(parameter.key());
      value != nullptr ? parameter.value().copy_(*value) : parameter.value().fill_(-40);
    }
    const auto context = test::context_of({0, 20});
    const auto x = test::attention_tokens(20);
    EXPECT_TRUE(test::near(prior->forward(x, context), full->forward(x, context)));
    test::expect_equal_types("type: gaussian, form: local, window_size: fixed, fixed_window: 1e9",
                             "type: full", is_causal);
  }
}

// Steep: each token sees itself alone. Scores of two tokens by hand: w = ln 2 from softplus(0).
TEST(GaussianAttention, FollowsItsFormula) {
  const auto layer = test::attention_layer("type: gaussian", test::attention_options(false));
  test::set_parameters(*layer, {{"core.prior.width", at::full({test::kAttentionHeads}, 200.0)}});
  const auto near = layer->weights(test::attention_tokens(5), test::context_of({0, 5}))[0];
  EXPECT_TRUE(test::near(near, at::eye(5).expand({test::kAttentionHeads, 5, 5}), 1e-6));
  test::set_parameters(*layer,
                       {{"core.prior.width", at::zeros({test::kAttentionHeads})},
                        {"core.prior.shift", at::full({test::kAttentionHeads}, -50.0)},
                        {"qkv.weight", at::zeros({3 * test::kAttentionDim, test::kAttentionDim})},
                        {"qkv.bias", at::zeros({3 * test::kAttentionDim})}});
  const auto two = layer->weights(test::attention_tokens(2), test::context_of({0, 2}))[0];
  EXPECT_NEAR(two[0][0][0].item<double>(), 2.0 / 3, 1e-6);  // 1 / (1 + exp(-ln 2))
  EXPECT_NEAR(two[0][0][1].item<double>(), 1.0 / 3, 1e-6);
}

// Zero vectors predict the middle of the text, (l / 2), and half of it as the window.
TEST(GaussianAttention, CentresLocalWindowsOnTheMiddle) {
  const auto layer =
      test::attention_layer("type: gaussian, form: local", test::attention_options(false));
  test::set_parameters(
      *layer, {{"core.prior.centre",
                at::zeros({test::kAttentionHeads, test::kAttentionDim / test::kAttentionHeads})},
               {"core.prior.extent",
                at::zeros({test::kAttentionHeads, test::kAttentionDim / test::kAttentionHeads})},
               {"qkv.weight", at::zeros({3 * test::kAttentionDim, test::kAttentionDim})},
               {"qkv.bias", at::zeros({3 * test::kAttentionDim})}});
  const auto found = layer->weights(test::attention_tokens(3), test::context_of({0, 3}))[0];
  const double sigma = 1.5 / 2;
  const auto distance = at::tensor({-1.5, -0.5, 0.5}, at::kDouble);
  const auto expected = (-distance.square() / (2 * sigma * sigma)).softmax(0);
  EXPECT_TRUE(test::near(found, expected.expand({test::kAttentionHeads, 3, 3}), 1e-6));
}

TEST(AttentionLimits, TalkingHeadsMayBeSilent) {
  for (const bool is_causal : {false, true}) {
    const auto full = test::attention_layer("type: full", test::attention_options(is_causal));
    const auto layer =
        test::attention_layer("type: talking_heads", test::attention_options(is_causal));
    test::set_parameters(*layer, {{"core.talking_heads.scores", at::eye(test::kAttentionHeads)},
                                  {"core.talking_heads.weights", at::eye(test::kAttentionHeads)}});
    const auto context = test::context_of({0, 20});
    const auto x = test::attention_tokens(20);
    EXPECT_TRUE(test::near(layer->forward(x, context), full->forward(x, context)));
    // A permutation in both permutes the heads of the weights.
    const auto order = at::tensor({2, 0, 3, 1}, at::kLong);
    const auto permutation = at::eye(test::kAttentionHeads).index_select(1, order);
    test::set_parameters(*layer, {{"core.talking_heads.scores", permutation},
                                  {"core.talking_heads.weights", permutation.t().contiguous()}});
    EXPECT_TRUE(test::near(layer->weights(x, context)[0], full->weights(x, context)[0]));
    test::set_parameters(*layer, {{"core.talking_heads.weights", at::eye(test::kAttentionHeads)}});
    EXPECT_TRUE(test::near(layer->weights(x, context)[0],
                           full->weights(x, context)[0].index_select(0, order)));
  }
}

TEST(AttentionLimits, SynthesizersOfDotProductsAreFull) {
  for (const bool is_causal : {false, true}) {
    test::expect_equal_types("type: synthesizer, scores: [dot]", "type: full", is_causal);
  }
  const auto mixed = test::attention_layer("type: synthesizer, scores: [dense, dot]",
                                           test::attention_options(false));
  test::set_parameters(*mixed, {{"core.score.mixture", at::tensor({-1e4F, 0.0F})}});
  const auto full = test::attention_layer("type: full", test::attention_options(false));
  const at::NoGradGuard guard;
  for (auto& parameter : mixed->named_parameters()) {
    const auto* value = full->named_parameters().find(parameter.key());
    if (value != nullptr) {
      parameter.value().copy_(*value);
    }
  }
  const auto x = test::attention_tokens(20);
  const auto context = test::context_of({0, 20});
  EXPECT_TRUE(test::near(mixed->forward(x, context), full->forward(x, context)));
}

TEST(Synthesizer, RandomScoresDoNotDependOnTheTokens) {
  const auto layer = test::attention_layer("type: synthesizer, scores: [random, factorized_random]",
                                           test::attention_options(false));
  const auto context = test::context_of({0, 9});
  const auto x = test::attention_tokens(9);
  const auto weights = layer->weights(x, context)[0];
  EXPECT_TRUE(at::equal(layer->weights(x.flip(0), context)[0], weights));
  for (auto& parameter : layer->named_parameters()) {
    if (parameter.key().starts_with("core.")) {
      const at::NoGradGuard guard;
      parameter.value().zero_();
    }
  }
  EXPECT_TRUE(
      test::near(layer->weights(x, context)[0], at::full({test::kAttentionHeads, 9, 9}, 1.0 / 9)));
  EXPECT_THROW(layer->forward(test::attention_tokens(513), test::context_of({0, 513})), UserError);
}

TEST(Synthesizer, FactorizedScoresAreTheirFormulas) {
  const auto layer = test::attention_layer(
      "type: synthesizer, scores: [factorized_dense], length: 7", test::attention_options(false));
  const auto parameters = layer->named_parameters();
  const auto x = test::attention_tokens(7);
  const auto weights = layer->weights(x, test::context_of({0, 7}))[0];
  const auto query = at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"])
                         .slice(1, 0, test::kAttentionDim)
                         .view({7, test::kAttentionHeads, -1})
                         .transpose(0, 1);
  const auto a = at::matmul(query, parameters["core.score.member.first"]);   // (H, 7, 3)
  const auto b = at::matmul(query, parameters["core.score.member.second"]);  // (H, 7, 3)
  auto scores = at::empty({test::kAttentionHeads, 7, 7});
  for (int64_t j = 0; j < 7; ++j) {
    scores.select(2, j).copy_(a.select(2, j % 3) * b.select(2, j / 3));
  }
  EXPECT_TRUE(test::near(weights, scores.softmax(-1)));
  const auto fixed =
      test::attention_layer("type: synthesizer, scores: [random], trainable: false, length: 9",
                            test::attention_options(false));
  EXPECT_FALSE(fixed->named_parameters()["core.score.member.table"].requires_grad());
}

}  // namespace
}  // namespace weft::nn
