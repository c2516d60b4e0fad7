#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "nn/attention/attention_layers.h"
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
