#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/attention/attention_layers.h"
#include "nn/auxiliary_losses.h"
#include "support/context.h"
#include "support/tensors.h"

/// Attention that is faster than quadratic: where it is full attention, and its formulas.
namespace weft::nn {
namespace {

// S pinv(S) S = S: with as many landmarks as tokens, the formula is full attention.
TEST(NystromAttention, WithAllLandmarksIsFull) {
  const auto difference = [](int64_t length, const std::string& keys) {
    const auto layer = test::attention_layer(keys, test::attention_options(false));
    const auto full = test::attention_layer("type: full", test::attention_options(false));
    const at::NoGradGuard guard;
    for (auto& parameter : full->named_parameters()) {
      parameter.value().copy_(layer->named_parameters()[parameter.key()]);
    }
    layer->to(at::kDouble);
    full->to(at::kDouble);
    const auto x = test::attention_tokens(length, at::kDouble);
    const auto context = test::context_of({0, length});
    return (layer->forward(x, context) - full->forward(x, context)).abs().max().item<double>();
  };
  const std::string keys = "type: nystrom, convolution: 0, exact_when_short: false, landmarks: 16";
  EXPECT_LT(difference(16, keys + ", iterations: 40"), 1e-8);
  EXPECT_GT(difference(16, keys + ", iterations: 2"), 1e-4);
  EXPECT_GT(difference(17, keys + ", iterations: 40"), 1e-6);
  EXPECT_LT(difference(16, "type: nystrom, convolution: 0, landmarks: 16, iterations: 1"), 1e-12);
}

TEST(PerformerAttention, FeaturesEstimateTheExponential) {
  // Mean of the relative errors of the weights, for queries and keys from N(0, 0.25^2).
  at::manual_seed(3);
  const auto weight = at::randn({3 * test::kAttentionDim, test::kAttentionDim}) *
                      (0.25 / std::sqrt(test::kAttentionDim));
  const auto x = at::randn({40, test::kAttentionDim});
  const auto error = [&](const std::string& keys) {
    double sum = 0;
    constexpr int kDraws = 6;
    for (int draw = 0; draw < kDraws; ++draw) {
      const auto layer =
          test::attention_layer("type: performer, " + keys + ", seed: " + std::to_string(draw),
                                test::attention_options(false));
      const auto full = test::attention_layer("type: full", test::attention_options(false));
      for (const auto& attention : {layer, full}) {
        test::set_parameters(*attention, {{"qkv.weight", weight},
                                          {"qkv.bias", at::zeros({3 * test::kAttentionDim})}});
      }
      const auto context = test::context_of({0, 40});
      const auto expected = full->weights(x, context)[0];
      sum += ((layer->weights(x, context)[0] - expected).norm() / expected.norm()).item<double>();
    }
    return sum / kDraws;
  };
  const auto few = error("features: 256");
  const auto many = error("features: 4096");
  EXPECT_LT(many, 0.03) << few << " " << many;
  EXPECT_GT(few / many, 2.5);  // 4 in theory: the error falls with the square root
  EXPECT_LT(few / many, 6.5);
  EXPECT_LT(few, error("features: 256, orthogonal: false"));
}

TEST(PerformerAttention, RedrawsItsFeaturesByTheStep) {
  const auto layer =
      test::attention_layer("type: performer, redraw_every: 10", test::attention_options(false));
  auto context = test::context_of({0, 20});
  context.is_training = true;
  const auto x = test::attention_tokens(20);
  const auto at_step = [&](uint64_t step) {
    context.step = step;
    return layer->forward(x, context);
  };
  const auto first = at_step(3);
  EXPECT_TRUE(at::equal(at_step(9), first));
  EXPECT_FALSE(test::near(at_step(10), first, 1e-4));
  EXPECT_TRUE(at::equal(at_step(0), first));
}

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

TEST(InformerAttention, WithAllQueriesActiveIsFull) {
  for (const int64_t length : {1, 2, 7, 15}) {
    test::expect_equal_types("type: informer, factor: 5", "type: full", false, length);
  }
}

TEST(InformerAttention, OtherQueriesHaveTheMeanValue) {
  const auto layer = test::attention_layer("type: informer, factor: 1, sample: false",
                                           test::attention_options(false));
  const auto full = test::attention_layer("type: full", test::attention_options(false));
  test::set_parameters(*layer, {{"output.weight", at::eye(test::kAttentionDim)},
                                {"output.bias", at::zeros({test::kAttentionDim})}});
  test::set_parameters(*full, {{"output.weight", at::eye(test::kAttentionDim)},
                               {"output.bias", at::zeros({test::kAttentionDim})}});
  const auto x = test::attention_tokens(50);
  const auto context = test::context_of({0, 50});
  const auto parameters = layer->named_parameters();
  const auto mean = at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"])
                        .slice(1, 2 * test::kAttentionDim)
                        .mean(0)
                        .view({test::kAttentionHeads, -1});
  const auto found = layer->forward(x, context).view({50, test::kAttentionHeads, -1});
  const auto attended = full->forward(x, context).view({50, test::kAttentionHeads, -1});
  for (int64_t head = 0; head < test::kAttentionHeads; ++head) {
    int64_t active = 0;
    for (int64_t i = 0; i < 50; ++i) {
      const bool is_active = test::near(found[i][head], attended[i][head]);
      active += is_active ? 1 : 0;
      EXPECT_TRUE(is_active || test::near(found[i][head], mean[head]));
    }
    EXPECT_EQ(active, 4);  // ceil(ln 50)
  }
}

TEST(LongformerAttention, InItsLimitsIsFull) {
  const auto full = test::attention_layer("type: full", test::attention_options(false));
  const auto own = full->named_parameters();
  const auto x = test::attention_tokens(30);
  const auto context = test::context_of({0, 30});
  const auto check = [&](const std::string& keys, bool has_own_projections) {
    const auto layer =
        test::attention_layer("type: longformer, " + keys, test::attention_options(false));
    std::map<std::string, at::Tensor> values{{"output.weight", own["output.weight"]},
                                             {"output.bias", own["output.bias"]},
                                             {"global_qkv.weight", own["qkv.weight"]},
                                             {"global_qkv.bias", own["qkv.bias"]}};
    if (!has_own_projections) {
      values["qkv.weight"] = own["qkv.weight"];
      values["qkv.bias"] = own["qkv.bias"];
    }
    test::set_parameters(*layer, values);
    EXPECT_TRUE(test::near(layer->forward(x, context), full->forward(x, context))) << keys;
    EXPECT_TRUE(test::near(layer->weights(x, context)[0], full->weights(x, context)[0])) << keys;
  };
  check("window: 60, global_tokens: 0", false);
  check("window: 60, global_tokens: 2", false);
  check("window: 2, global_tokens: 30", true);
}

// A factor of 1 with identity kernels: every token has its own key. Causal queries also see a zero
// key, so only the others are full attention.
TEST(MemoryCompressedAttention, WithoutCompressionIsFull) {
  const auto layer = test::attention_layer("type: memory_compressed, compression: 1",
                                           test::attention_options(false));
  const auto identity = at::eye(test::kAttentionDim / test::kAttentionHeads)
                            .expand({test::kAttentionHeads, -1, -1})
                            .contiguous();
  test::set_parameters(*layer, {{"core.key", identity},
                                {"core.value", identity},
                                {"core.key_bias", at::zeros({test::kAttentionDim})},
                                {"core.value_bias", at::zeros({test::kAttentionDim})}});
  const auto full = test::attention_layer("type: full", test::attention_options(false));
  const auto own = full->named_parameters();
  test::set_parameters(*layer, {{"qkv.weight", own["qkv.weight"]},
                                {"qkv.bias", own["qkv.bias"]},
                                {"output.weight", own["output.weight"]},
                                {"output.bias", own["output.bias"]}});
  const auto x = test::attention_tokens(30);
  const auto context = test::context_of({0, 7, 30});
  EXPECT_TRUE(test::near(layer->forward(x, context), full->forward(x, context)));
}

// Zero queries weigh all visible keys equally: the zero key and the complete chunks.
TEST(MemoryCompressedAttention, CausalQueriesSeeCompleteChunks) {
  const auto layer = test::attention_layer("type: memory_compressed, compression: 2",
                                           test::attention_options(true));
  const auto half = at::eye(test::kAttentionDim / test::kAttentionHeads)
                        .div(2)
                        .repeat({2, 1})
                        .expand({test::kAttentionHeads, -1, -1});
  test::set_parameters(
      *layer,
      {{"core.value", half.contiguous()},
       {"core.value_bias", at::zeros({test::kAttentionDim})},
       {"qkv.weight", at::cat({at::zeros({test::kAttentionDim, test::kAttentionDim}),
                               at::eye(test::kAttentionDim), at::eye(test::kAttentionDim)})},
       {"qkv.bias", at::zeros({3 * test::kAttentionDim})},
       {"output.weight", at::eye(test::kAttentionDim)},
       {"output.bias", at::zeros({test::kAttentionDim})}});
  const auto x = test::attention_tokens(5);
  const auto y = layer->forward(x, test::context_of({0, 5}));
  const auto first = (x[0] + x[1]) / 2;
  const auto second = (x[2] + x[3]) / 2;
  EXPECT_TRUE(test::near(y[0], at::zeros({test::kAttentionDim})));
  EXPECT_TRUE(test::near(y[1], first / 2));
  EXPECT_TRUE(test::near(y[2], first / 2));
  EXPECT_TRUE(test::near(y[3], (first + second) / 3));
  EXPECT_TRUE(test::near(y[4], (first + second) / 3));
}

TEST(InducedAttention, DoesNotDependOnTheOrder) {
  const auto layer =
      test::attention_layer("type: induced, points: 4", test::attention_options(false));
  const auto x = test::attention_tokens(12);
  const auto context = test::context_of({0, 12});
  EXPECT_TRUE(test::near(layer->forward(x.flip(0), context), layer->forward(x, context).flip(0)));
}

// The points read the text with full attention, and the tokens the points.
TEST(InducedAttention, FollowsItsFormula) {
  const auto layer =
      test::attention_layer("type: induced, points: 3", test::attention_options(false));
  const auto parameters = layer->named_parameters();
  const auto x = test::attention_tokens(6);
  const auto linear = [&](const std::string& name, const at::Tensor& rows) {
    return at::linear(rows, parameters[name + ".weight"], parameters[name + ".bias"]);
  };
  const auto attend = [&](const at::Tensor& query, const at::Tensor& key_value) {
    const auto heads = [](const at::Tensor& rows) {
      return rows.view({rows.size(0), test::kAttentionHeads, -1}).transpose(0, 1);
    };
    const auto halves = key_value.chunk(2, 1);
    const auto scores = at::matmul(heads(query), heads(halves[0].contiguous()).transpose(1, 2)) /
                        std::sqrt(test::kAttentionDim / test::kAttentionHeads);
    return at::matmul(scores.softmax(-1), heads(halves[1].contiguous()))
        .transpose(0, 1)
        .reshape({query.size(0), test::kAttentionDim});
  };
  const auto points = parameters["points"];
  const auto read = attend(linear("point_query", points), linear("key_value", x));
  const auto found = at::layer_norm(points + linear("point_output", read), {test::kAttentionDim},
                                    parameters["norm.weight"], parameters["norm.bias"], 1e-5);
  const auto expected =
      linear("output", attend(linear("query", x), linear("point_key_value", found)));
  EXPECT_TRUE(test::near(layer->forward(x, test::context_of({0, 6})), expected));
}

TEST(ClusteredAttention, InItsLimitsIsFull) {
  test::expect_equal_types("type: clustered, clusters: 64, top: 0", "type: full", false);
  for (const std::string clusters : {"1", "7", "64"}) {  // any clustering
    test::expect_equal_types("type: clustered, top: 64, clusters: " + clusters, "type: full",
                             false);
  }
}

TEST(ClusteredAttention, MembersOfAClusterShareItsWeights) {
  const auto layer =
      test::attention_layer("type: clustered, clusters: 1, top: 0", test::attention_options(false));
  const auto y = layer->forward(test::attention_tokens(20), test::context_of({0, 20}));
  EXPECT_TRUE(test::near(y, y[0].expand_as(y)));
}

TEST(LiteTransformerAttention, OfAllFeaturesIsFull) {
  for (const bool is_causal : {false, true}) {
    const auto layer = test::attention_layer("type: lite_transformer, attention_share: 1",
                                             test::attention_options(is_causal));
    const auto full = test::attention_layer("type: full", test::attention_options(is_causal));
    const auto own = full->named_parameters();
    std::map<std::string, at::Tensor> values;
    for (const auto& parameter : own) {
      values["attention." + parameter.key()] = parameter.value();
    }
    test::set_parameters(*layer, values);
    const auto x = test::attention_tokens(20);
    const auto context = test::context_of({0, 20});
    EXPECT_TRUE(test::near(layer->forward(x, context), full->forward(x, context)));
  }
}

// The features of the convolution reach as far as the kernel.
TEST(LiteTransformerAttention, ConvolvesWithinTheKernel) {
  for (const bool is_causal : {false, true}) {
    for (const std::string kind : {"light", "dynamic"}) {
      const auto layer = test::attention_layer(
          "type: lite_transformer, attention_share: 0, kernel_size: 5, convolution: " + kind,
          test::attention_options(is_causal));
      auto x = test::attention_tokens(20);
      const auto before = layer->forward(x, test::context_of({0, 20}));
      x[8].add_(1);
      const auto after = layer->forward(x, test::context_of({0, 20}));
      for (int64_t i = 0; i < 20; ++i) {
        const bool is_reached = is_causal ? i >= 8 && i <= 12 : std::abs(i - 8) <= 2;
        EXPECT_EQ(test::near(before[i], after[i], 1e-7), !is_reached) << kind << " " << i;
      }
    }
  }
  // A kernel of one tap is the identity between the two projections.
  const auto layer = test::attention_layer(
      "type: lite_transformer, attention_share: 0, kernel_size: 1", test::attention_options(false));
  const auto parameters = layer->named_parameters();
  const auto x = test::attention_tokens(4);
  const auto gated = at::glu(
      at::linear(x, parameters["convolution.input.weight"], parameters["convolution.input.bias"]),
      1);
  EXPECT_TRUE(test::near(layer->forward(x, test::context_of({0, 4})),
                         at::linear(gated, parameters["convolution.output.weight"],
                                    parameters["convolution.output.bias"])));
}

}  // namespace
}  // namespace weft::nn
