#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/attention/attention_cpu.h"
#include "kernels/flop_counter.h"
#include "nn/attention/attention.h"
#include "support/attention.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"

/// Attention types in the limits where they are full attention or another type, which tokens their
/// patterns show, and how many scores they compute.
namespace weft::nn {
namespace {

constexpr int64_t kLimitDim = 32;
constexpr int64_t kLimitHeads = 4;

AttentionOptions limit_options(bool is_causal, int64_t layer = 0) {
  return {
      .dim = kLimitDim, .heads = kLimitHeads, .layer = layer, .is_causal = is_causal, .dropout = 0};
}

at::Tensor limit_tokens(int64_t count, at::ScalarType type = at::kFloat) {
  return (at::arange(count * kLimitDim, at::kDouble) * 1.7)
      .sin()
      .add(at::arange(count * kLimitDim, at::kDouble).mul(0.37).cos())
      .view({count, kLimitDim})
      .to(type);
}

/// Both types with the parameters of the second where the names agree.
void expect_equal_types(const std::string& keys,
                        const std::string& other_keys,
                        bool is_causal,
                        int64_t length = 64,
                        int64_t layer = 0) {
  const auto options = limit_options(is_causal, layer);
  const auto found = test::attention_layer(keys, options);
  const auto expected = test::attention_layer(other_keys, options);
  const at::NoGradGuard guard;
  const auto values = expected->named_parameters();
  for (auto& parameter : found->named_parameters()) {
    if (const auto* value = values.find(parameter.key()); value != nullptr) {
      parameter.value().copy_(*value);
    }
  }
  const auto context = test::context_of({0, length});
  const auto x = limit_tokens(length);
  EXPECT_TRUE(test::near(found->forward(x, context), expected->forward(x, context)))
      << keys << " and " << other_keys << ", length " << length;
}

TEST(AttentionLimits, PatternsThatShowAllAreFull) {
  for (const bool is_causal : {false, true}) {
    for (const std::string keys :
         {"type: block_local, block: 64", "type: strided, stride: 1",
          "type: dilated, window: 130, dilation: [1]", "type: multi_scale, windows: [all]",
          "type: multi_scale, windows: [130, 1000]",
          "type: sparse_transformer, mix: merged, stride: 64",
          "type: hybrid, patterns: [{type: window, window: 3}, {type: strided, stride: 1}]",
          "type: hybrid, patterns: [{type: global, tokens: 64}]"}) {
      expect_equal_types(keys, "type: full", is_causal);
    }
    expect_equal_types("type: sparse_transformer, mix: layers, stride: 1", "type: full", is_causal,
                       64, 1);
    expect_equal_types("type: sparse_transformer, mix: layers, mode: fixed, stride: 7, summary: 7",
                       "type: full", is_causal, 64, 1);
    expect_equal_types("type: sparse_transformer, mix: layers, stride: 64", "type: full", is_causal,
                       64, 0);
  }
  expect_equal_types("type: block_local, block: 10, look_back: 6", "type: full", true);
  expect_equal_types("type: block_local, blocks: 1", "type: full", false);
  expect_equal_types("type: block_local, block: 64, shift_heads: true", "type: full", false);
  expect_equal_types("type: big_bird, block: 4, random_blocks: 0, window_blocks: 31", "type: full",
                     false);
  expect_equal_types("type: big_bird, block: 8, random_blocks: 3", "type: full", false);  // short
}

TEST(AttentionLimits, PatternsAreOneAnother) {
  for (const bool is_causal : {false, true}) {
    expect_equal_types("type: dilated, window: 8, dilation: [1]", "type: window, window: 8",
                       is_causal);
    expect_equal_types("type: dilated, window: 40, dilation: [4]", "type: strided, stride: 4",
                       is_causal);
    expect_equal_types("type: multi_scale, windows: [8]", "type: window, window: 8", is_causal);
    expect_equal_types("type: hybrid, patterns: [{type: window, window: 8}]",
                       "type: window, window: 8", is_causal);
    expect_equal_types("type: hybrid, combine: heads, patterns: [{type: window, window: 8}]",
                       "type: window, window: 8", is_causal);
    expect_equal_types(
        "type: hybrid, patterns: [{type: window, window: 8}, {type: strided, stride: 5}]",
        "type: hybrid, patterns: [{type: strided, stride: 5}, {type: window, window: 8}]",
        is_causal);
    expect_equal_types(
        "type: hybrid, patterns: [{type: window, window: 8}, {type: window, window: 4}]",
        "type: window, window: 8", is_causal);
  }
  expect_equal_types("type: big_bird, block: 4, random_blocks: 0, window_blocks: 1",
                     "type: hybrid, patterns: [{type: block_local, block: 4}, {type: global, "
                     "tokens: 4}, {type: big_bird, block: 4, random_blocks: 0, window_blocks: 1}]",
                     false);
}

TEST(AttentionLimits, GaussianPriorsFadeAway) {
  for (const bool is_causal : {false, true}) {
    const auto full = test::attention_layer("type: full", limit_options(is_causal));
    const auto prior = test::attention_layer("type: gaussian", limit_options(is_causal));
    const at::NoGradGuard guard;
    for (auto& parameter : prior->named_parameters()) {
      const auto* value = full->named_parameters().find(parameter.key());
      value != nullptr ? parameter.value().copy_(*value) : parameter.value().fill_(-40);
    }
    const auto context = test::context_of({0, 20});
    const auto x = limit_tokens(20);
    EXPECT_TRUE(test::near(prior->forward(x, context), full->forward(x, context)));
    expect_equal_types("type: gaussian, form: local, window_size: fixed, fixed_window: 1e9",
                       "type: full", is_causal);
  }
}

// Steep: each token sees itself alone. Scores of two tokens by hand: w = ln 2 from softplus(0).
TEST(GaussianAttention, FollowsItsFormula) {
  const auto layer = test::attention_layer("type: gaussian", limit_options(false));
  test::set_parameters(*layer, {{"core.prior.width", at::full({kLimitHeads}, 200.0)}});
  const auto near = layer->weights(limit_tokens(5), test::context_of({0, 5}))[0];
  EXPECT_TRUE(test::near(near, at::eye(5).expand({kLimitHeads, 5, 5}), 1e-6));
  test::set_parameters(*layer, {{"core.prior.width", at::zeros({kLimitHeads})},
                                {"core.prior.shift", at::full({kLimitHeads}, -50.0)},
                                {"qkv.weight", at::zeros({3 * kLimitDim, kLimitDim})},
                                {"qkv.bias", at::zeros({3 * kLimitDim})}});
  const auto two = layer->weights(limit_tokens(2), test::context_of({0, 2}))[0];
  EXPECT_NEAR(two[0][0][0].item<double>(), 2.0 / 3, 1e-6);  // 1 / (1 + exp(-ln 2))
  EXPECT_NEAR(two[0][0][1].item<double>(), 1.0 / 3, 1e-6);
}

// Zero vectors predict the middle of the text, (l / 2), and half of it as the window.
TEST(GaussianAttention, CentresLocalWindowsOnTheMiddle) {
  const auto layer = test::attention_layer("type: gaussian, form: local", limit_options(false));
  test::set_parameters(*layer,
                       {{"core.prior.centre", at::zeros({kLimitHeads, kLimitDim / kLimitHeads})},
                        {"core.prior.extent", at::zeros({kLimitHeads, kLimitDim / kLimitHeads})},
                        {"qkv.weight", at::zeros({3 * kLimitDim, kLimitDim})},
                        {"qkv.bias", at::zeros({3 * kLimitDim})}});
  const auto found = layer->weights(limit_tokens(3), test::context_of({0, 3}))[0];
  const double sigma = 1.5 / 2;
  const auto distance = at::tensor({-1.5, -0.5, 0.5}, at::kDouble);
  const auto expected = (-distance.square() / (2 * sigma * sigma)).softmax(0);
  EXPECT_TRUE(test::near(found, expected.expand({kLimitHeads, 3, 3}), 1e-6));
}

TEST(AttentionLimits, TalkingHeadsMayBeSilent) {
  for (const bool is_causal : {false, true}) {
    const auto full = test::attention_layer("type: full", limit_options(is_causal));
    const auto layer = test::attention_layer("type: talking_heads", limit_options(is_causal));
    test::set_parameters(*layer, {{"core.talking_heads.scores", at::eye(kLimitHeads)},
                                  {"core.talking_heads.weights", at::eye(kLimitHeads)}});
    const auto context = test::context_of({0, 20});
    const auto x = limit_tokens(20);
    EXPECT_TRUE(test::near(layer->forward(x, context), full->forward(x, context)));
    // A permutation in both permutes the heads of the weights.
    const auto order = at::tensor({2, 0, 3, 1}, at::kLong);
    const auto permutation = at::eye(kLimitHeads).index_select(1, order);
    test::set_parameters(*layer, {{"core.talking_heads.scores", permutation},
                                  {"core.talking_heads.weights", permutation.t().contiguous()}});
    EXPECT_TRUE(test::near(layer->weights(x, context)[0], full->weights(x, context)[0]));
    test::set_parameters(*layer, {{"core.talking_heads.weights", at::eye(kLimitHeads)}});
    EXPECT_TRUE(test::near(layer->weights(x, context)[0],
                           full->weights(x, context)[0].index_select(0, order)));
  }
}

TEST(AttentionLimits, SynthesizersOfDotProductsAreFull) {
  for (const bool is_causal : {false, true}) {
    expect_equal_types("type: synthesizer, scores: [dot]", "type: full", is_causal);
  }
  const auto mixed =
      test::attention_layer("type: synthesizer, scores: [dense, dot]", limit_options(false));
  test::set_parameters(*mixed, {{"core.score.mixture", at::tensor({-1e4F, 0.0F})}});
  const auto full = test::attention_layer("type: full", limit_options(false));
  const at::NoGradGuard guard;
  for (auto& parameter : mixed->named_parameters()) {
    const auto* value = full->named_parameters().find(parameter.key());
    if (value != nullptr) {
      parameter.value().copy_(*value);
    }
  }
  const auto x = limit_tokens(20);
  const auto context = test::context_of({0, 20});
  EXPECT_TRUE(test::near(mixed->forward(x, context), full->forward(x, context)));
}

TEST(Synthesizer, RandomScoresDoNotDependOnTheTokens) {
  const auto layer = test::attention_layer("type: synthesizer, scores: [random, factorized_random]",
                                           limit_options(false));
  const auto context = test::context_of({0, 9});
  const auto x = limit_tokens(9);
  const auto weights = layer->weights(x, context)[0];
  EXPECT_TRUE(at::equal(layer->weights(x.flip(0), context)[0], weights));
  for (auto& parameter : layer->named_parameters()) {
    if (parameter.key().starts_with("core.")) {
      const at::NoGradGuard guard;
      parameter.value().zero_();
    }
  }
  EXPECT_TRUE(test::near(layer->weights(x, context)[0], at::full({kLimitHeads, 9, 9}, 1.0 / 9)));
  EXPECT_THROW(layer->forward(limit_tokens(513), test::context_of({0, 513})), UserError);
}

TEST(Synthesizer, FactorizedScoresAreTheirFormulas) {
  const auto layer = test::attention_layer(
      "type: synthesizer, scores: [factorized_dense], length: 7", limit_options(false));
  const auto parameters = layer->named_parameters();
  const auto x = limit_tokens(7);
  const auto weights = layer->weights(x, test::context_of({0, 7}))[0];
  const auto query = at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"])
                         .slice(1, 0, kLimitDim)
                         .view({7, kLimitHeads, -1})
                         .transpose(0, 1);
  const auto a = at::matmul(query, parameters["core.score.member.first"]);   // (H, 7, 3)
  const auto b = at::matmul(query, parameters["core.score.member.second"]);  // (H, 7, 3)
  auto scores = at::empty({kLimitHeads, 7, 7});
  for (int64_t j = 0; j < 7; ++j) {
    scores.select(2, j).copy_(a.select(2, j % 3) * b.select(2, j / 3));
  }
  EXPECT_TRUE(test::near(weights, scores.softmax(-1)));
  const auto fixed = test::attention_layer(
      "type: synthesizer, scores: [random], trainable: false, length: 9", limit_options(false));
  EXPECT_FALSE(fixed->named_parameters()["core.score.member.table"].requires_grad());
}

// S pinv(S) S = S: with as many landmarks as tokens, the formula is full attention.
TEST(NystromAttention, WithAllLandmarksIsFull) {
  const auto difference = [](int64_t length, const std::string& keys) {
    const auto layer = test::attention_layer(keys, limit_options(false));
    const auto full = test::attention_layer("type: full", limit_options(false));
    const at::NoGradGuard guard;
    for (auto& parameter : full->named_parameters()) {
      parameter.value().copy_(layer->named_parameters()[parameter.key()]);
    }
    layer->to(at::kDouble);
    full->to(at::kDouble);
    const auto x = limit_tokens(length, at::kDouble);
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
  const auto weight = at::randn({3 * kLimitDim, kLimitDim}) * (0.25 / std::sqrt(kLimitDim));
  const auto x = at::randn({40, kLimitDim});
  const auto error = [&](const std::string& keys) {
    double sum = 0;
    constexpr int kDraws = 6;
    for (int draw = 0; draw < kDraws; ++draw) {
      const auto layer = test::attention_layer(
          "type: performer, " + keys + ", seed: " + std::to_string(draw), limit_options(false));
      const auto full = test::attention_layer("type: full", limit_options(false));
      for (const auto& attention : {layer, full}) {
        test::set_parameters(*attention,
                             {{"qkv.weight", weight}, {"qkv.bias", at::zeros({3 * kLimitDim})}});
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
      test::attention_layer("type: performer, redraw_every: 10", limit_options(false));
  auto context = test::context_of({0, 20});
  context.is_training = true;
  const auto x = limit_tokens(20);
  const auto at_step = [&](uint64_t step) {
    context.step = step;
    return layer->forward(x, context);
  };
  const auto first = at_step(3);
  EXPECT_TRUE(at::equal(at_step(9), first));
  EXPECT_FALSE(test::near(at_step(10), first, 1e-4));
  EXPECT_TRUE(at::equal(at_step(0), first));
}

/// One sequence of Reformer attention with a single bucket, written out.
at::Tensor shared_attention(const at::Tensor& x, const torch::nn::Module& layer, bool is_causal) {
  const auto parameters = layer.named_parameters();
  const auto length = x.size(0);
  const auto heads = [&](const std::string& name) {
    return at::linear(x, parameters[name + ".weight"], parameters[name + ".bias"])
        .view({length, kLimitHeads, -1})
        .transpose(0, 1);
  };
  const auto query = heads("query_key");
  const auto key = query / query.norm(2, {2}, true);
  auto scores = at::matmul(query, key.transpose(1, 2));
  scores = scores - 1e5 * at::eye(length);
  if (is_causal) {
    scores = scores.masked_fill(at::ones({length, length}, at::kBool).triu(1), -INFINITY);
  }
  const auto mixed = at::matmul(scores.softmax(-1), heads("value")).transpose(0, 1);
  return at::linear(mixed.reshape({length, kLimitDim}), parameters["output.weight"],
                    parameters["output.bias"]);
}

TEST(ReformerAttention, WithOneBucketIsFullSharedAttention) {
  const auto x = limit_tokens(20);
  for (const std::string rounds : {"1", "3"}) {
    const auto layer =
        test::attention_layer("type: reformer, chunk: 20, rounds: " + rounds, limit_options(false));
    EXPECT_TRUE(test::near(layer->forward(x, test::context_of({0, 20})),
                           shared_attention(x, *layer, false)));
  }
}

TEST(ReformerAttention, EqualTokensShareABucket) {
  const auto layer = test::attention_layer("type: reformer, chunk: 4", limit_options(false));
  auto x = limit_tokens(64);
  x[5].copy_(x[3]);
  const auto y = layer->forward(x, test::context_of({0, 64}));
  x[3].mul_(1.01);  // the same direction up to the biases, another value
  const auto moved = layer->forward(x, test::context_of({0, 64}));
  EXPECT_FALSE(test::near(moved[5], y[5], 1e-5));
}

TEST(InformerAttention, WithAllQueriesActiveIsFull) {
  for (const int64_t length : {1, 2, 7, 15}) {
    expect_equal_types("type: informer, factor: 5", "type: full", false, length);
  }
}

TEST(InformerAttention, OtherQueriesHaveTheMeanValue) {
  const auto layer =
      test::attention_layer("type: informer, factor: 1, sample: false", limit_options(false));
  const auto full = test::attention_layer("type: full", limit_options(false));
  test::set_parameters(
      *layer, {{"output.weight", at::eye(kLimitDim)}, {"output.bias", at::zeros({kLimitDim})}});
  test::set_parameters(
      *full, {{"output.weight", at::eye(kLimitDim)}, {"output.bias", at::zeros({kLimitDim})}});
  const auto x = limit_tokens(50);
  const auto context = test::context_of({0, 50});
  const auto parameters = layer->named_parameters();
  const auto mean = at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"])
                        .slice(1, 2 * kLimitDim)
                        .mean(0)
                        .view({kLimitHeads, -1});
  const auto found = layer->forward(x, context).view({50, kLimitHeads, -1});
  const auto attended = full->forward(x, context).view({50, kLimitHeads, -1});
  for (int64_t head = 0; head < kLimitHeads; ++head) {
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
  const auto full = test::attention_layer("type: full", limit_options(false));
  const auto own = full->named_parameters();
  const auto x = limit_tokens(30);
  const auto context = test::context_of({0, 30});
  const auto check = [&](const std::string& keys, bool has_own_projections) {
    const auto layer = test::attention_layer("type: longformer, " + keys, limit_options(false));
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
  const auto layer =
      test::attention_layer("type: memory_compressed, compression: 1", limit_options(false));
  const auto identity = at::eye(kLimitDim / kLimitHeads).expand({kLimitHeads, -1, -1}).contiguous();
  test::set_parameters(*layer, {{"core.key", identity},
                                {"core.value", identity},
                                {"core.key_bias", at::zeros({kLimitDim})},
                                {"core.value_bias", at::zeros({kLimitDim})}});
  const auto full = test::attention_layer("type: full", limit_options(false));
  const auto own = full->named_parameters();
  test::set_parameters(*layer, {{"qkv.weight", own["qkv.weight"]},
                                {"qkv.bias", own["qkv.bias"]},
                                {"output.weight", own["output.weight"]},
                                {"output.bias", own["output.bias"]}});
  const auto x = limit_tokens(30);
  const auto context = test::context_of({0, 7, 30});
  EXPECT_TRUE(test::near(layer->forward(x, context), full->forward(x, context)));
}

// Zero queries weigh all visible keys equally: the zero key and the complete chunks.
TEST(MemoryCompressedAttention, CausalQueriesSeeCompleteChunks) {
  const auto layer =
      test::attention_layer("type: memory_compressed, compression: 2", limit_options(true));
  const auto half =
      at::eye(kLimitDim / kLimitHeads).div(2).repeat({2, 1}).expand({kLimitHeads, -1, -1});
  test::set_parameters(*layer, {{"core.value", half.contiguous()},
                                {"core.value_bias", at::zeros({kLimitDim})},
                                {"qkv.weight", at::cat({at::zeros({kLimitDim, kLimitDim}),
                                                        at::eye(kLimitDim), at::eye(kLimitDim)})},
                                {"qkv.bias", at::zeros({3 * kLimitDim})},
                                {"output.weight", at::eye(kLimitDim)},
                                {"output.bias", at::zeros({kLimitDim})}});
  const auto x = limit_tokens(5);
  const auto y = layer->forward(x, test::context_of({0, 5}));
  const auto first = (x[0] + x[1]) / 2;
  const auto second = (x[2] + x[3]) / 2;
  EXPECT_TRUE(test::near(y[0], at::zeros({kLimitDim})));
  EXPECT_TRUE(test::near(y[1], first / 2));
  EXPECT_TRUE(test::near(y[2], first / 2));
  EXPECT_TRUE(test::near(y[3], (first + second) / 3));
  EXPECT_TRUE(test::near(y[4], (first + second) / 3));
}

TEST(InducedAttention, DoesNotDependOnTheOrder) {
  const auto layer = test::attention_layer("type: induced, points: 4", limit_options(false));
  const auto x = limit_tokens(12);
  const auto context = test::context_of({0, 12});
  EXPECT_TRUE(test::near(layer->forward(x.flip(0), context), layer->forward(x, context).flip(0)));
}

// The points read the text with full attention, and the tokens the points.
TEST(InducedAttention, FollowsItsFormula) {
  const auto layer = test::attention_layer("type: induced, points: 3", limit_options(false));
  const auto parameters = layer->named_parameters();
  const auto x = limit_tokens(6);
  const auto linear = [&](const std::string& name, const at::Tensor& rows) {
    return at::linear(rows, parameters[name + ".weight"], parameters[name + ".bias"]);
  };
  const auto attend = [&](const at::Tensor& query, const at::Tensor& key_value) {
    const auto heads = [](const at::Tensor& rows) {
      return rows.view({rows.size(0), kLimitHeads, -1}).transpose(0, 1);
    };
    const auto halves = key_value.chunk(2, 1);
    const auto scores = at::matmul(heads(query), heads(halves[0].contiguous()).transpose(1, 2)) /
                        std::sqrt(kLimitDim / kLimitHeads);
    return at::matmul(scores.softmax(-1), heads(halves[1].contiguous()))
        .transpose(0, 1)
        .reshape({query.size(0), kLimitDim});
  };
  const auto points = parameters["points"];
  const auto read = attend(linear("point_query", points), linear("key_value", x));
  const auto found = at::layer_norm(points + linear("point_output", read), {kLimitDim},
                                    parameters["norm.weight"], parameters["norm.bias"], 1e-5);
  const auto expected =
      linear("output", attend(linear("query", x), linear("point_key_value", found)));
  EXPECT_TRUE(test::near(layer->forward(x, test::context_of({0, 6})), expected));
}

TEST(ClusteredAttention, InItsLimitsIsFull) {
  expect_equal_types("type: clustered, clusters: 64, top: 0", "type: full", false);
  for (const std::string clusters : {"1", "7", "64"}) {  // any clustering
    expect_equal_types("type: clustered, top: 64, clusters: " + clusters, "type: full", false);
  }
}

TEST(ClusteredAttention, MembersOfAClusterShareItsWeights) {
  const auto layer =
      test::attention_layer("type: clustered, clusters: 1, top: 0", limit_options(false));
  const auto y = layer->forward(limit_tokens(20), test::context_of({0, 20}));
  EXPECT_TRUE(test::near(y, y[0].expand_as(y)));
}

TEST(LiteTransformerAttention, OfAllFeaturesIsFull) {
  for (const bool is_causal : {false, true}) {
    const auto layer = test::attention_layer("type: lite_transformer, attention_share: 1",
                                             limit_options(is_causal));
    const auto full = test::attention_layer("type: full", limit_options(is_causal));
    const auto own = full->named_parameters();
    std::map<std::string, at::Tensor> values;
    for (const auto& parameter : own) {
      values["attention." + parameter.key()] = parameter.value();
    }
    test::set_parameters(*layer, values);
    const auto x = limit_tokens(20);
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
          limit_options(is_causal));
      auto x = limit_tokens(20);
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
      "type: lite_transformer, attention_share: 0, kernel_size: 1", limit_options(false));
  const auto parameters = layer->named_parameters();
  const auto x = limit_tokens(4);
  const auto gated = at::glu(
      at::linear(x, parameters["convolution.input.weight"], parameters["convolution.input.bias"]),
      1);
  EXPECT_TRUE(test::near(layer->forward(x, test::context_of({0, 4})),
                         at::linear(gated, parameters["convolution.output.weight"],
                                    parameters["convolution.output.bias"])));
}

using Visible = std::function<bool(int64_t length, int64_t head, int64_t i, int64_t j)>;

struct PatternCase {
  std::string keys;
  bool is_causal;
  Visible visible;
};

std::vector<PatternCase> pattern_cases() {
  const auto near = [](int64_t i, int64_t j, int64_t radius) { return std::abs(i - j) <= radius; };
  return {
      {"type: block_local, block: 5, look_back: 1", false,
       [](auto, auto, auto i, auto j) { return j / 5 == i / 5 || j / 5 == i / 5 - 1; }},
      {"type: block_local, blocks: 3", false,
       [](auto l, auto, auto i, auto j) {
         const auto size = (l + 2) / 3;
         return i / size == j / size;
       }},
      {"type: block_local, block: 6, shift_heads: true", false,
       [](auto l, auto head, auto i, auto j) { return j / 6 == (i / 6 + head) % ((l + 5) / 6); }},
      {"type: strided, stride: 6", true,
       [](auto, auto, auto i, auto j) { return j <= i && (i - j) % 6 == 0; }},
      {"type: strided", false,
       [](auto l, auto, auto i, auto j) {
         const auto root = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(l))));
         return (i - j) % root == 0;
       }},
      {"type: dilated, window: 8, dilation: [1, 3]", false,
       [=](auto, auto head, auto i, auto j) {
         const auto dilation = head % 2 == 0 ? 1 : 3;
         return near(i, j, 4 * dilation) && (i - j) % dilation == 0;
       }},
      {"type: dilated, window: 4, dilation: [2]", true,
       [](auto, auto, auto i, auto j) { return j <= i && i - j <= 6 && (i - j) % 2 == 0; }},
      {"type: multi_scale, windows: [2, 1/4, all, 6]", false,
       [=](auto l, auto head, auto i, auto j) {
         const std::vector<int64_t> radius{1, l / 4 / 2, l, 3};
         return near(i, j, radius[static_cast<std::size_t>(head)]);
       }},
      {"type: sparse_transformer, stride: 7", true,
       [](auto, auto head, auto i, auto j) {
         return j <= i && (head % 2 == 0 ? i - j < 7 : (i - j) % 7 == 0);
       }},
      {"type: sparse_transformer, stride: 7, mix: merged", true,
       [](auto, auto, auto i, auto j) { return j <= i && (i - j < 7 || (i - j) % 7 == 0); }},
      {"type: sparse_transformer, stride: 7, mode: fixed, summary: 2, mix: merged", true,
       [](auto, auto, auto i, auto j) { return j <= i && (i / 7 == j / 7 || j % 7 >= 5); }},
      {"type: big_bird, block: 3, random_blocks: 0, window_blocks: 3", false,
       [](auto l, auto, auto i, auto j) {
         const auto last = (l - 1) / 3;
         const auto is_global = [&](auto block) { return block == 0 || block == last; };
         return l <= 15 || is_global(i / 3) || is_global(j / 3) || std::abs(i / 3 - j / 3) <= 1;
       }},
      {"type: hybrid, patterns: [{type: window, window: 4}, {type: global, tokens: 2}]", true,
       [=](auto, auto, auto i, auto j) { return j <= i && (i - j < 4 || j < 2 || i < 2); }},
  };
}

// From the formula; the computed scores are counted.
TEST(AttentionPatterns, ShowAndComputeWhatTheirFormulasSay) {
  for (const auto& [keys, is_causal, visible] : pattern_cases()) {
    const auto layer = test::attention_layer(keys, limit_options(is_causal));
    for (const int64_t length : {1, 2, 5, 16, 33, 70}) {
      const auto context = test::context_of({0, length});
      const auto x = limit_tokens(length);
      const auto weights = layer->weights(x, context)[0];
      int64_t shown = 0;
      for (int64_t head = 0; head < kLimitHeads; ++head) {
        for (int64_t i = 0; i < length; ++i) {
          for (int64_t j = 0; j < length; ++j) {
            const bool is_visible = visible(length, head, i, j);
            shown += is_visible ? 1 : 0;
            ASSERT_EQ(weights[head][i][j].item<float>() > 0, is_visible)
                << keys << ", length " << length << ", head " << head << ": " << i << " " << j;
          }
        }
      }
      const kernels::FlopCounter counter;
      layer->forward(x, context);
      const auto projections = 2 * length * kLimitDim * (3 * kLimitDim + kLimitDim);
      const auto of_pairs = counter.flops() - projections;
      EXPECT_EQ(of_pairs, kernels::kForwardProducts * 2 * shown * (kLimitDim / kLimitHeads))
          << keys << ", length " << length;
    }
  }
}

/// Pairs (from, to) that n layers connect: the relation composed with itself.
at::Tensor reached(const at::Tensor& relation, int layers) {
  auto result = relation;
  for (int layer = 1; layer < layers; ++layer) {
    result = at::matmul(result, relation).gt(0).to(at::kFloat);
  }
  return result;
}

at::Tensor relation_of(const std::string& keys, bool is_causal, int64_t length) {
  const auto layer = test::attention_layer(keys, limit_options(is_causal));
  const auto weights = layer->weights(limit_tokens(length), test::context_of({0, length}))[0];
  return weights.amax({0}).gt(0).to(at::kFloat);
}

TEST(SparseTransformerAttention, TwoLayersConnectAllEarlierPairs) {
  for (const std::string mode : {"strided", "fixed, summary: 1"}) {
    for (const int64_t length : {60, 61, 64}) {
      for (const std::string stride : {"7", "8"}) {
        const auto relation = relation_of(
            "type: sparse_transformer, mix: merged, mode: " + mode + ", stride: " + stride, true,
            length);
        EXPECT_TRUE(at::equal(reached(relation, 2), at::ones({length, length}).tril()))
            << mode << " " << stride << " " << length;
      }
    }
  }
}

TEST(BigBirdAttention, RandomBlocksShortenThePaths) {
  const auto farthest = [](const std::string& keys) {
    const auto relation = relation_of(keys, false, 192);
    for (int layers = 1;; ++layers) {
      if (reached(relation, layers).min().item<float>() > 0) {
        return layers;
      }
    }
  };
  EXPECT_EQ(farthest("type: full"), 1);
  EXPECT_EQ(farthest("type: big_bird, block: 3, random_blocks: 3"), 2);  // through the globals
  const auto seed = [](const std::string& number) {
    return relation_of("type: big_bird, block: 3, random_blocks: 2, seed: " + number, false, 192);
  };
  EXPECT_TRUE(at::equal(seed("1"), seed("1")));
  EXPECT_FALSE(at::equal(seed("1"), seed("2")));
  // Blocks: own, two neighbours, first and last, and two random ones.
  const auto layer =
      test::attention_layer("type: big_bird, block: 3, random_blocks: 2", limit_options(false));
  const auto weights = layer->weights(limit_tokens(192), test::context_of({0, 192}))[0];
  EXPECT_EQ(weights[0][90].gt(0).sum().item<int64_t>(), 7 * 3);
  EXPECT_FALSE(at::equal(weights[0].gt(0), weights[1].gt(0)));
}

TEST(AttentionTypeKeys, RefuseWhatIsNotCausal) {
  for (const std::string type :
       {"big_bird", "longformer", "linformer", "nystrom", "informer", "induced", "clustered"}) {
    const auto message = test::message_of<config::Error>([&] {
      test::attention_choice("type: " + type + (type == "linformer" ? ", length: 9" : ""))
          .make(limit_options(true));
    });
    EXPECT_NE(message.find("attention.type: found '" + type + "' in a causal model: "),
              std::string::npos)
        << message;
  }
  for (const std::string keys :
       {"type: strided", "type: block_local, blocks: 3", "type: multi_scale, windows: [1/4]",
        "type: reformer", "type: hybrid, patterns: [{type: strided}]"}) {
    const auto message = test::message_of<config::Error>(
        [&] { test::attention_choice(keys).make(limit_options(true)); });
    EXPECT_NE(message.find("depends on the length of the text in a causal model"),
              std::string::npos)
        << message;
    EXPECT_NO_THROW(test::attention_choice(keys).make(limit_options(false)));
  }
}

TEST(AttentionTypeKeys, RefuseBadKeys) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"type: block_local, blocks: 2, block: 3", "block: "},
      {"type: block_local, shift_heads: true, look_back: 1", "look_back: has no effect"},
      {"type: dilated, dilation: [1.5]", "dilation: found 1.5"},
      {"type: dilated, dilation: []", "dilation: "},
      {"type: multi_scale, windows: [0]", "windows: found '0'"},
      {"type: multi_scale, windows: [1/0]", "windows: found '1/0'"},
      {"type: sparse_transformer, summary: 2", "summary: "},
      {"type: sparse_transformer, mode: fixed, stride: 4, summary: 5", "summary: found 5"},
      {"type: big_bird, window_blocks: 2", "window_blocks: found 2"},
      {"type: hybrid", "patterns: at least one"},
      {"type: hybrid, patterns: [{type: windows}]", "patterns.0.type: 'windows' is not one of"},
      {"type: hybrid, patterns: [{type: window, stride: 3}]", "stride"},
      {"type: synthesizer, scores: [dens]", "scores: 'dens' is not one of"},
      {"type: nystrom, convolution: 4", "convolution: found an even number"},
      {"type: reformer, buckets: 3", "buckets: found 3"},
      {"type: lite_transformer, kernel_size: 4", "kernel_size: found 4"},
      {"type: gaussian, window_size: layer", "window_size"}};
  for (const auto& [keys, expected] : cases) {
    const auto message = test::message_of<config::Error>([&] { test::attention_choice(keys); });
    EXPECT_NE(message.find(expected), std::string::npos) << keys << ": " << message;
  }
}

}  // namespace
}  // namespace weft::nn
