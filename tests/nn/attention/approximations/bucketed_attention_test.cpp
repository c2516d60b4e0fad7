#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/attention/attention_layers.h"
#include "nn/auxiliary_losses.h"
#include "support/context.h"
#include "support/tensors.h"

/// Attention within buckets of tokens: Reformer and Routing Transformer.
namespace weft::nn {
namespace {

/// Queries, keys and values of a type whose queries and keys are the same, (H, l, K).
at::Tensor heads_of(const at::Tensor& x, const torch::nn::Module& layer, const std::string& name) {
  const auto parameters = layer.named_parameters();
  return at::linear(x, parameters[name + ".weight"], parameters[name + ".bias"])
      .view({x.size(0), test::kAttentionHeads, -1})
      .transpose(0, 1);
}

/// The output for weights (H, l, l).
at::Tensor mixed_values(const at::Tensor& weights,
                        const at::Tensor& x,
                        const torch::nn::Module& layer) {
  const auto parameters = layer.named_parameters();
  const auto mixed = at::matmul(weights, heads_of(x, layer, "value")).transpose(0, 1);
  return at::linear(mixed.reshape({x.size(0), test::kAttentionDim}), parameters["output.weight"],
                    parameters["output.bias"]);
}

/// One sequence of Reformer attention with a single bucket, written out.
at::Tensor shared_attention(const at::Tensor& x, const torch::nn::Module& layer, bool is_causal) {
  const auto length = x.size(0);
  const auto query = heads_of(x, layer, "query_key");
  const auto key = query / query.norm(2, {2}, true);
  auto scores = at::matmul(query, key.transpose(1, 2));
  scores = scores - 1e5 * at::eye(length);
  if (is_causal) {
    scores = scores.masked_fill(at::ones({length, length}, at::kBool).triu(1), -INFINITY);
  }
  return mixed_values(scores.softmax(-1), x, layer);
}

TEST(ReformerAttention, WithOneBucketIsFullSharedAttention) {
  const auto x = test::attention_tokens(20);
  for (const std::string rounds : {"1", "3"}) {
    const auto layer = test::attention_layer("type: reformer, chunk: 20, rounds: " + rounds,
                                             test::attention_options(false));
    EXPECT_TRUE(test::near(layer->forward(x, test::context_of({0, 20})),
                           shared_attention(x, *layer, false)));
  }
}

TEST(ReformerAttention, EqualTokensShareABucket) {
  const auto layer =
      test::attention_layer("type: reformer, chunk: 4", test::attention_options(false));
  auto x = test::attention_tokens(64);
  x[5].copy_(x[3]);
  const auto y = layer->forward(x, test::context_of({0, 64}));
  x[3].mul_(1.01);  // the same direction up to the biases, another value
  const auto moved = layer->forward(x, test::context_of({0, 64}));
  EXPECT_FALSE(test::near(moved[5], y[5], 1e-5));
}

TEST(RoutingAttention, WithOneClusterIsFullAttentionOfNormalisedFeatures) {
  const auto x = test::attention_tokens(20);
  for (const std::string assign : {"nearest", "top"}) {
    const auto layer =
        test::attention_layer("type: routing, local_heads: 1, clusters: 1, assign: " + assign,
                              test::attention_options(false));
    const auto query = at::layer_norm(heads_of(x, *layer, "query_key"),
                                      {test::kAttentionDim / test::kAttentionHeads});
    const auto scores = at::matmul(query, query.transpose(1, 2)) / std::sqrt(query.size(2));
    EXPECT_TRUE(test::near(layer->forward(x, test::context_of({0, 20})),
                           mixed_values(scores.softmax(-1), x, *layer)));
  }
}

/// Tokens of three directions in turn, with a little noise.
at::Tensor tokens_of_three_directions(int64_t count) {
  const auto directions = test::attention_tokens(3) * 3;
  return directions.index_select(0, at::arange(count).remainder(3)) +
         0.1 * test::attention_tokens(count);
}

/// The first token of each direction as queries and keys of the heads, (H, 3, K).
at::Tensor directions_of(const at::Tensor& x, const torch::nn::Module& layer) {
  return at::layer_norm(heads_of(x, layer, "query_key"),
                        {test::kAttentionDim / test::kAttentionHeads})
      .slice(1, 0, 3);
}

TEST(RoutingAttention, AClusterIsOneDirection) {
  const auto layer = test::attention_layer("type: routing, local_heads: 0, clusters: 3, window: 20",
                                           test::attention_options(false));
  const auto x = tokens_of_three_directions(60);
  const at::NoGradGuard guard;
  layer->named_parameters()["centroids"].copy_(directions_of(x, *layer));
  auto moved = x.clone();
  moved[4].mul_(1.001).add_(0.01 * x[1]);  // still the second direction
  const auto context = test::context_of({0, 60});
  const auto change = (layer->forward(moved, context) - layer->forward(x, context)).abs().amax(1);
  for (int64_t i = 0; i < 60; ++i) {
    EXPECT_EQ(change[i].item<double>() > 0, i % 3 == 1) << i;
  }
}

TEST(RoutingAttention, CentroidsMoveToTheTokensOfTheirCluster) {
  const auto layer = test::attention_layer("type: routing, local_heads: 0, clusters: 3, window: 20",
                                           test::attention_options(false));
  const auto x = tokens_of_three_directions(60);
  const auto centroids = layer->named_parameters()["centroids"];
  at::manual_seed(5);
  {
    const at::NoGradGuard guard;
    centroids.copy_(directions_of(x, *layer) + 0.8 * at::randn_like(centroids));
  }
  const auto loss = [&] {
    AuxiliaryLosses losses;
    auto context = test::context_of({0, 60});
    context.auxiliary_losses = &losses;
    layer->forward(x, context);
    EXPECT_EQ(losses.all().size(), 1U);
    return losses.all()[0].sum;
  };
  const auto before = loss().item<double>();
  for (int step = 0; step < 300; ++step) {
    const auto gradient = torch::autograd::grad({loss()}, {centroids})[0];
    const at::NoGradGuard guard;
    centroids.sub_(0.1 * gradient);
  }
  EXPECT_LT(loss().item<double>(), 0.2 * before);
}

TEST(RoutingAttention, TheCommitmentMovesTheTokens) {
  const auto x = test::attention_tokens(12).requires_grad_();
  const auto layer = test::attention_layer("type: routing, clusters: 2, commitment: 0.5",
                                           test::attention_options(false));
  auto context = test::context_of({0, 12});
  AuxiliaryLosses losses;
  context.auxiliary_losses = &losses;
  layer->forward(x, context);
  ASSERT_EQ(losses.all().size(), 2U);
  const auto gradient = [&](std::size_t loss, const at::Tensor& to) {
    return torch::autograd::grad({losses.all()[loss].sum}, {to}, {}, true, false, true)[0];
  };
  const auto centroids = layer->named_parameters()["centroids"];
  EXPECT_FALSE(gradient(0, x).defined());
  EXPECT_GT(gradient(0, centroids).abs().sum().item<double>(), 0);
  EXPECT_GT(gradient(1, x).abs().sum().item<double>(), 0);
  EXPECT_FALSE(gradient(1, centroids).defined());
  EXPECT_EQ(losses.all()[1].weight, 0.5);
}

}  // namespace
}  // namespace weft::nn
