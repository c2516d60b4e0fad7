#include "nn/attention/dense_core.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/attention/mask_patterns.h"
#include "nn/attention/scores/score_parts.h"
#include "nn/attention/self_attention.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

/// Changes nothing, but the fused kernels do not support it.
class PlainPathOnly : public ScoreModifier {};

DenseParts plain(DenseParts parts) {
  parts.modifiers.push_back({"plain", std::make_shared<PlainPathOnly>()});
  return parts;
}

DenseParts windowed(const AttentionOptions& options, int64_t radius) {
  auto parts = dense_parts(options);
  parts.patterns.push_back(std::make_shared<WindowPattern>(radius));
  return parts;
}

/// Every head sees its own distance only.
class OneDistancePerHead : public MaskPattern {
 public:
  bool is_visible(const AttentionSpan& span, int64_t head, int64_t i, int64_t j) const override {
    return j == std::max<int64_t>(0, span.offset + i - head);
  }
};

// All scores are equal and the values are unit vectors: the output is the attention weights.
void expect_weights_only_where_visible(const AttentionOptions& options,
                                       const DenseParts& parts,
                                       const AttentionSpan& span,
                                       const std::string& place) {
  auto context = test::context_of({0, span.queries});
  if (options.is_causal) {
    context.prefix_lengths = {span.prefix};
  }
  const auto width = options.heads * options.head_dim;
  const auto values = at::eye(span.keys, options.head_dim).repeat({1, options.heads});
  const auto keys = kernels::Layout::from_offsets({0, span.keys}, at::kCPU);
  const auto out = DenseCore(options, parts)
                       .forward({.rows = {.query = at::zeros({span.queries, width}),
                                          .key = at::zeros({span.keys, width}),
                                          .value = values},
                                 .queries = context.layout,
                                 .keys = keys},
                                context)
                       .view({span.queries, options.heads, options.head_dim});
  for (int64_t head = 0; head < options.heads; ++head) {
    for (int64_t i = 0; i < span.queries; ++i) {
      for (int64_t j = 0; j < span.keys; ++j) {
        bool is_visible = true;
        for (const auto& pattern : parts.patterns) {
          is_visible = is_visible && pattern->is_visible(span, head, i, j);
        }
        EXPECT_EQ(out[i][head][j].item<float>() > 0, is_visible)
            << place << ", " << span.queries << " of " << span.keys << ", head " << head
            << ", query " << i << ", key " << j;
      }
    }
  }
}

TEST(MaskPatterns, AreWhatBothPathsCompute) {
  const AttentionOptions both{.dim = 16, .heads = 2, .head_dim = 8};
  auto causal = both;
  causal.is_causal = true;
  for (int64_t keys = 1; keys <= 6; ++keys) {
    for (const int64_t radius : {0, 1, 3, 9}) {
      const auto parts = windowed(both, radius);
      const AttentionSpan span{.queries = keys, .keys = keys};
      expect_weights_only_where_visible(both, parts, span, "fused window");
      expect_weights_only_where_visible(both, plain(parts), span, "plain window");
    }
    for (int64_t queries = 1; queries <= keys; ++queries) {  // after the keys in a cache
      for (const int64_t prefix : {0, 2, 7}) {
        const AttentionSpan span{queries, keys, keys - queries, prefix};
        expect_weights_only_where_visible(causal, dense_parts(causal), span, "fused causal");
        expect_weights_only_where_visible(causal, plain(dense_parts(causal)), span, "causal");
        expect_weights_only_where_visible(causal, windowed(causal, 1), span, "fused near");
        expect_weights_only_where_visible(causal, plain(windowed(causal, 1)), span, "near");
        auto own = dense_parts(causal);
        own.patterns.push_back(std::make_shared<OneDistancePerHead>());
        expect_weights_only_where_visible(causal, own, span, "one distance per head");
      }
    }
  }
}

/// Output and gradients of a layer in training; the gradients by name.
struct Pass {
  at::Tensor y;
  std::map<std::string, at::Tensor> gradients;
};

Pass pass_of(const AttentionOptions& options, const DenseParts& parts, at::ScalarType type) {
  SelfAttention layer(options, {.core = std::make_shared<DenseCore>(options, parts)});
  test::fill_parameters(layer);
  layer.to(type);
  auto context = test::context_of({0, 3, 12, 12, 13, 30, 47});
  context.is_training = true;
  context.seed = 5;
  context.first_sequence = 2;
  if (options.is_causal) {
    context.prefix_lengths = {2, 0, 0, 1, 4, 0};
  }
  const auto bias = at::arange(2 * 11, at::kFloat).sin().view({2, 11}).requires_grad_();
  if (options.has_distance_bias) {
    context.distance_bias = bias;
  }
  const auto x = at::arange(47 * 16).sin().view({47, 16}).to(type).requires_grad_();
  Pass pass{.y = layer.forward(x, context), .gradients = {}};
  (pass.y * at::arange(pass.y.numel()).cos().view_as(pass.y)).sum().backward();
  pass.gradients["x"] = x.grad();
  for (const auto& parameter : layer.named_parameters()) {
    pass.gradients[parameter.key()] = parameter.value().grad();
  }
  if (options.has_distance_bias) {
    pass.gradients["bias"] = bias.grad();
  }
  return pass;
}

TEST(DenseCore, IsTheSameInPlainLibTorchAndFused) {
  const AttentionOptions full{.dim = 16, .heads = 2, .dropout = 0.3};
  auto causal = full;
  causal.is_causal = true;
  auto rotary = causal;
  rotary.rotary.theta = 50;
  rotary.key_heads = 1;
  auto biased = full;
  biased.has_distance_bias = true;
  biased.scale = 0.7;
  const std::vector<std::pair<AttentionOptions, DenseParts>> cases{
      {full, dense_parts(full)},     {causal, dense_parts(causal)}, {rotary, dense_parts(rotary)},
      {biased, dense_parts(biased)}, {full, windowed(full, 2)},     {rotary, windowed(rotary, 3)}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& [options, parts] = cases[i];
    const auto fused = pass_of(options, parts, at::kFloat);
    const auto unfused = pass_of(options, plain(parts), at::kFloat);
    EXPECT_TRUE(test::near(unfused.y, fused.y, 1e-5)) << i;
    for (const auto& [name, gradient] : fused.gradients) {
      EXPECT_TRUE(test::near(unfused.gradients.at(name), gradient, 1e-4)) << i << " " << name;
    }
  }
}

TEST(DenseCore, ComputesInThePrecisionOfItsInput) {
  const AttentionOptions options{.dim = 16, .heads = 2, .is_causal = true};
  const auto parts = plain(dense_parts(options));
  const auto single = pass_of(options, parts, at::kFloat);
  EXPECT_EQ(pass_of(options, parts, at::kBFloat16).y.scalar_type(), at::kBFloat16);
  const auto twice = pass_of(options, parts, at::kDouble);
  EXPECT_EQ(twice.y.scalar_type(), at::kDouble);
  EXPECT_TRUE(test::near(twice.y, single.y, 1e-4));
}

/// Minus the squared distance of query and key, times a learned factor for each head.
class DistanceScore : public ScoreFunction {
 public:
  DistanceScore() { factor_ = register_parameter("factor", at::ones({2})); }

  at::Tensor scores(const AttentionTile& tile) override {
    return -at::cdist(tile.query, tile.key).square() * factor_.view({2, 1, 1});
  }

 private:
  at::Tensor factor_;
};

/// Mixes the heads before and after the softmax (arXiv:2003.02436).
class TalkingHeads : public ScoreModifier {
 public:
  TalkingHeads() {
    before_ = register_parameter("before", at::eye(2));
    after_ = register_parameter("after", at::eye(2));
  }

  at::Tensor scores(const at::Tensor& scores, const AttentionTile& /*tile*/) override {
    return at::einsum("hg,bgij->bhij", {before_, scores});
  }
  at::Tensor weights(const at::Tensor& weights, const AttentionTile& /*tile*/) override {
    return at::einsum("hg,bgij->bhij", {after_, weights});
  }

 private:
  at::Tensor before_;
  at::Tensor after_;
};

// One sequence of the layer below, written out.
at::Tensor by_hand(const at::Tensor& x, const torch::nn::Module& layer) {
  const auto parameters = layer.named_parameters();
  const auto length = x.size(0);
  const auto parts =
      at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"]).view({length, 3, 2, 4});
  const auto heads = [&](int64_t part) { return parts.select(1, part).transpose(0, 1); };
  const auto mix = [&](const at::Tensor& by, const at::Tensor& mixed) {
    return at::matmul(by, mixed.flatten(1)).view_as(mixed);
  };
  const auto difference = heads(0).unsqueeze(2) - heads(1).unsqueeze(1);  // (H, L, L, K)
  const auto scores =
      mix(parameters["core.mix.before"],
          -difference.square().sum(-1) * parameters["core.score.factor"].view({2, 1, 1}));
  const auto future = at::ones({length, length}, at::kBool).triu(1);
  const auto weights =
      mix(parameters["core.mix.after"], scores.masked_fill(future, -INFINITY).softmax(-1));
  const auto mixed = at::matmul(weights, heads(2)).transpose(0, 1).reshape({length, 8});
  return at::linear(mixed, parameters["output.weight"], parameters["output.bias"]);
}

TEST(DenseCore, TakesOtherScoresAndModifiers) {
  const AttentionOptions options{.dim = 8, .heads = 2, .is_causal = true, .dropout = 0};
  auto parts = dense_parts(options);
  parts.score = std::make_shared<DistanceScore>();
  parts.modifiers = {{"mix", std::make_shared<TalkingHeads>()}};
  SelfAttention layer(options, {.core = std::make_shared<DenseCore>(options, parts)});
  test::fill_parameters(layer);
  const auto x = at::arange(80, at::kFloat).sin().view({10, 8}).requires_grad_();
  const auto gradients_of = [&](const at::Tensor& y) {
    auto inputs = layer.parameters();
    inputs.push_back(x);
    const auto weights = at::arange(y.numel(), at::kFloat).cos().view_as(y);
    return torch::autograd::grad({(y * weights).sum()}, inputs);
  };
  const auto y = layer.forward(x, test::context_of({0, 3, 3, 4, 7, 10}));
  const auto expected =
      at::cat({by_hand(x.slice(0, 0, 3), layer), by_hand(x.slice(0, 3, 4), layer),
               by_hand(x.slice(0, 4, 7), layer), by_hand(x.slice(0, 7, 10), layer)});
  EXPECT_TRUE(test::near(y, expected));
  const auto found = gradients_of(y);
  const auto wanted = gradients_of(expected);
  ASSERT_EQ(found.size(), 8U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(test::near(found[i], wanted[i], 1e-4)) << i;
  }
}

}  // namespace
}  // namespace weft::nn
