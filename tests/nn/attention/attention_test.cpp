#include "nn/attention/attention.h"

#include <cmath>
#include <stdexcept>

#include <gtest/gtest.h>

#include "nn/attention/attention_types.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

// One head of width 2; query and key are the token itself, the value twice that.
std::shared_ptr<Attention> plain_attention() {
  auto layer = make_full_attention({.dim = 2, .heads = 1});
  test::set_parameters(*layer, {{"qkv.weight", at::cat({at::eye(2), at::eye(2), 2 * at::eye(2)})},
                                {"qkv.bias", at::zeros({6})},
                                {"output.weight", at::eye(2)},
                                {"output.bias", at::tensor({0.0F, 1.0F})}});
  return layer;
}

TEST(FullAttention, MatchesHandComputedValues) {
  const auto x = at::tensor({1.0F, 0.0F, 0.0F, 1.0F}).view({2, 2});
  const auto y = plain_attention()->forward(x, test::context_of({0, 2}));
  // Scores of the first token: 1 / sqrt(2) with itself, 0 with the other.
  const double own = std::exp(1 / std::sqrt(2.0)) / (std::exp(1 / std::sqrt(2.0)) + 1);
  const auto expected =
      at::tensor({2 * own, 2 * (1 - own) + 1, 2 * (1 - own), 2 * own + 1}).view({2, 2});
  EXPECT_TRUE(test::near(y, expected));
}

TEST(FullAttention, SequencesDoNotSeeEachOther) {
  const auto layer = make_full_attention({.dim = 8, .heads = 2});
  test::fill_parameters(*layer);
  const auto x = at::arange(56, at::kFloat).view({7, 8}).sin();
  const auto together = layer->forward(x, test::context_of({0, 3, 7}));
  EXPECT_TRUE(test::near(together.slice(0, 0, 3),
                         layer->forward(x.slice(0, 0, 3), test::context_of({0, 3}))));
  EXPECT_TRUE(
      test::near(together.slice(0, 3), layer->forward(x.slice(0, 3), test::context_of({0, 4}))));
}

TEST(WindowAttention, SeesHalfAWindowOnEachSide) {
  const AttentionOptions options{.dim = 8, .heads = 2};
  const auto layer = window_attention(5)(options);
  test::fill_parameters(*layer);
  const auto context = test::context_of({0, 9});
  const auto x = at::arange(72, at::kFloat).view({9, 8}).sin();
  auto edited = x.clone();
  edited.select(0, 4).add_(1.0);
  const auto before = layer->forward(x, context);
  const auto after = layer->forward(edited, context);
  for (int64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(test::near(before[i], after[i]), std::abs(i - 4) > 2) << i;
  }
  EXPECT_THROW(window_attention(0)(options), c10::Error);
}

TEST(WindowAttention, AWindowWiderThanTheSequenceIsNone) {
  const AttentionOptions options{.dim = 8, .heads = 2};
  const auto near = window_attention(18)(options);
  const auto full = make_full_attention(options);
  test::fill_parameters(*near);
  test::fill_parameters(*full);
  const auto x = at::arange(72, at::kFloat).view({9, 8}).sin();
  EXPECT_TRUE(test::near(near->forward(x, test::context_of({0, 9})),
                         full->forward(x, test::context_of({0, 9})), 0));
}

// Without positions, attention is invariant to the order of the tokens.
TEST(RotaryPositions, EncodeTheOrderOfTokens) {
  for (const double theta : {0.0, 100.0}) {
    const auto layer = make_full_attention({.dim = 8, .heads = 2, .rotary = {.theta = theta}});
    test::fill_parameters(*layer);
    const auto x = at::arange(24, at::kFloat).view({3, 8}).sin();
    const auto y = layer->forward(x, test::context_of({0, 3}));
    const auto turned = layer->forward(x.flip(0), test::context_of({0, 3})).flip(0);
    EXPECT_EQ(test::near(y, turned), theta == 0);
  }
}

TEST(RotaryPositions, ALongerSequenceGetsALongerTable) {
  const auto layer = make_full_attention({.dim = 8, .heads = 2, .rotary = {.theta = 100}});
  test::fill_parameters(*layer);
  const auto x = at::arange(8 * 200, at::kFloat).view({200, 8}).sin();
  const auto first = layer->forward(x.slice(0, 0, 5), test::context_of({0, 5}));
  layer->forward(x, test::context_of({0, 200}));
  EXPECT_TRUE(test::near(layer->forward(x.slice(0, 0, 5), test::context_of({0, 5})), first, 0));
}

TEST(FullAttention, ProjectionsMayHaveNoBiases) {
  const auto layer = make_full_attention({.dim = 8, .heads = 2, .has_bias = false});
  EXPECT_EQ(layer->named_parameters().size(), 2);
}

// The values of the sequence's tokens mixed by the weights, through the output projection.
at::Tensor mixed_by(const at::Tensor& weights, const at::Tensor& x, Attention& layer) {
  const auto parameters = layer.named_parameters();
  const auto dim = x.size(1);
  const auto values = at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"])
                          .slice(1, 2 * dim)
                          .view({x.size(0), weights.size(0), -1})
                          .transpose(0, 1);  // (H, L, K)
  return at::linear(at::matmul(weights, values).transpose(0, 1).reshape({-1, dim}),
                    parameters["output.weight"], parameters["output.bias"]);
}

TEST(AttentionWeights, MixTheValuesAsForwardDoes) {
  for (const auto& layer :
       {make_full_attention({.dim = 8, .heads = 2, .dropout = 0.5}),
        make_full_attention({.dim = 8, .heads = 2, .is_causal = true}),
        make_full_attention({.dim = 8, .heads = 2, .rotary = {.theta = 100}}),
        window_attention(4)({.dim = 8, .heads = 2, .rotary = {.theta = 100}})}) {
    test::fill_parameters(*layer);
    const auto x = at::arange(96, at::kFloat).view({12, 8}).sin();
    const auto context = test::context_of({0, 3, 12});
    const auto weights = layer->weights(x, context);
    const auto y = layer->forward(x, context);
    ASSERT_EQ(weights.size(), 2U);
    EXPECT_EQ(weights[1].sizes(), (std::vector<int64_t>{2, 9, 9}));
    EXPECT_TRUE(test::near(weights[1].sum(-1), at::ones({2, 9})));
    EXPECT_TRUE(test::near(mixed_by(weights[0], x.slice(0, 0, 3), *layer), y.slice(0, 0, 3)));
    EXPECT_TRUE(test::near(mixed_by(weights[1], x.slice(0, 3), *layer), y.slice(0, 3)));
  }
}

TEST(AttentionWeights, AreNothingWhereATokenMayNotLook) {
  const auto causal = make_full_attention({.dim = 8, .heads = 2, .is_causal = true});
  const auto window = window_attention(2)({.dim = 8, .heads = 2});
  const auto x = at::arange(40, at::kFloat).view({5, 8}).sin();
  for (const auto& layer : {causal, window}) {
    test::fill_parameters(*layer);
  }
  const auto before = causal->weights(x, test::context_of({0, 5}))[0];
  EXPECT_EQ(before.triu(1).abs().max().item<float>(), 0);
  EXPECT_GT(before.tril().abs().max().item<float>(), 0);
  const auto near = window->weights(x, test::context_of({0, 5}))[0];
  EXPECT_EQ(near.triu(2).abs().max().item<float>(), 0);
  EXPECT_EQ(near.tril(-2).abs().max().item<float>(), 0);
  EXPECT_GT(near[0][0][1].item<float>(), 0);
}

TEST(FullAttention, RefusesHeadsThatDoNotDivide) {
  EXPECT_THROW(make_full_attention({.dim = 8, .heads = 3}), c10::Error);
}

TEST(AttentionTypeNames, AreFoundByNameAndRegisteredOnce) {
  EXPECT_NE(attention_types().find("window"), nullptr);
  EXPECT_EQ(attention_types().find("windows"), nullptr);
  EXPECT_THROW(register_attention(*attention_types().find("full")), std::invalid_argument);
}

}  // namespace
}  // namespace weft::nn
