#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/attention/attention_types.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kDim = 8;

std::shared_ptr<Attention> funnel_layer(bool separate_cls) {
  auto layer = make_funnel_attention({.dim = kDim, .heads = 2}, separate_cls);
  test::fill_parameters(*layer);
  return layer;
}

at::Tensor waves(int64_t rows, double step) {
  return (at::arange(rows * kDim, at::kFloat) * step).sin().view({rows, kDim});
}

/// Pooled queries of a sequence of 5 tokens and of one of 2, which is too short.
struct PooledQueries {
  explicit PooledQueries(bool separate_cls) : layer(funnel_layer(separate_cls)) {
    context.layout = test::context_of({0, 3, 5}).layout;
    context.stride = 2;
    context.encoder_states = &before;
  }
  at::Tensor output() { return layer->forward(queries, context); }

  std::shared_ptr<Attention> layer;
  at::Tensor queries = waves(5, 0.7).requires_grad_();
  EncoderStates before{.states = waves(7, 0.3).requires_grad_(),
                       .layout = test::context_of({0, 5, 7}).layout};
  ForwardContext context;
};

TEST(FunnelAttention, APooledRowDependsOnItselfAndAllKeys) {
  for (const bool separate_cls : {false, true}) {
    PooledQueries it(separate_cls);
    const auto row = it.output()[1];
    const auto gradients =
        torch::autograd::grad({row.square().sum()}, {it.queries, it.before.states});
    const auto queries = gradients[0].abs().sum(1).gt(1e-6);
    const auto keys = gradients[1].abs().sum(1).gt(1e-6);
    EXPECT_TRUE(at::equal(queries, at::tensor({0, 1, 0, 0, 0}).to(at::kBool)));
    EXPECT_TRUE(at::equal(keys, at::tensor({1, 1, 1, 1, 1, 0, 0}).to(at::kBool)));
  }
}

TEST(FunnelAttention, SequencesDoNotSeeEachOther) {
  PooledQueries it(true);
  const auto together = it.output();
  const EncoderStates before{.states = it.before.states.slice(0, 5),
                             .layout = test::context_of({0, 2}).layout};
  auto context = it.context;
  context.layout = test::context_of({0, 2}).layout;
  context.encoder_states = &before;
  EXPECT_TRUE(test::near(it.layer->forward(it.queries.slice(0, 3), context), together.slice(0, 3)));
}

/// The scores of pooled queries are those of the first tokens of their windows.
TEST(FunnelAttention, PooledQueriesHaveThePositionsOfTheirFirstTokens) {
  for (const bool separate_cls : {false, true}) {
    const auto layer = funnel_layer(separate_cls);
    const auto tokens = waves(6, 0.3);
    auto context = test::context_of({0, 6});
    context.token_types = at::tensor({2, 0, 0, 1, 1, 1}, at::kLong);
    const auto all = layer->weights(tokens, context)[0];  // (H, L, L)
    const auto first =
        separate_cls ? at::tensor({0, 1, 3, 5}, at::kLong) : at::tensor({0, 2, 4}, at::kLong);
    const EncoderStates before{
        .states = tokens, .layout = context.layout, .token_types = context.token_types};
    auto pooled = test::context_of({0, first.size(0)});
    pooled.stride = 2;
    pooled.token_types = context.token_types.index_select(0, first);
    pooled.encoder_states = &before;
    const auto found = layer->weights(tokens.index_select(0, first), pooled)[0];
    EXPECT_TRUE(test::near(found, all.index_select(1, first)));
  }
}

TEST(FunnelAttention, CountsDistancesInTokensOfTheText) {
  const auto layer = funnel_layer(false);
  auto context = test::context_of({0, 4});
  const auto near = layer->forward(waves(4, 0.3), context);
  context.stride = 4;
  EXPECT_FALSE(test::near(layer->forward(waves(4, 0.3), context), near, 1e-3));
}

TEST(FunnelAttention, TypesMatterUnlessAllAreTheSame) {
  const auto layer = funnel_layer(false);
  auto context = test::context_of({0, 4});
  const auto without = layer->forward(waves(4, 0.3), context);
  const auto with = [&](const std::vector<int64_t>& types) {
    context.token_types = at::tensor(types, at::kLong);
    return layer->forward(waves(4, 0.3), context);
  };
  EXPECT_TRUE(test::near(with({0, 0, 0, 0}), without));
  EXPECT_TRUE(test::near(with({2, 1, 1, 1}), without)) << "the first token is like all others";
  EXPECT_FALSE(test::near(with({2, 0, 1, 1}), without, 1e-3));
}

}  // namespace
}  // namespace weft::nn
