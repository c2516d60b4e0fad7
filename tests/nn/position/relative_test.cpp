#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "nn/position/position_types.h"
#include "nn/stack.h"
#include "support/attention.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kRelativeDim = 16;
constexpr int64_t kRelativeHeads = 2;
constexpr int64_t kRelativeWidth = kRelativeDim / kRelativeHeads;

AttentionOptions options_with(const std::string& type,
                              const std::vector<std::pair<std::string, std::string>>& keys,
                              bool is_causal = false) {
  auto section = test::section("model.position", keys);
  const auto position = position_types().at(type).read(section)(
      {.dim = kRelativeDim, .length = 64, .heads = kRelativeHeads, .head_dim = kRelativeWidth});
  return {.dim = kRelativeDim,
          .heads = kRelativeHeads,
          .is_causal = is_causal,
          .position_modifiers = {position->modifier},
          .dropout = 0};
}

at::Tensor relative_tokens(int64_t count) {
  return at::arange(count * kRelativeDim, at::kFloat).mul(1.7).sin().view({count, kRelativeDim});
}

/// Queries, keys and values of one sequence, (H, L, K) each.
std::vector<at::Tensor> heads_of(const at::Tensor& x, const torch::nn::Module& layer) {
  const auto parameters = layer.named_parameters();
  return at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"])
      .view({x.size(0), 3, kRelativeHeads, kRelativeWidth})
      .permute({1, 2, 0, 3})
      .unbind(0);
}

at::Tensor outputs_of(const at::Tensor& mixed, const torch::nn::Module& layer) {
  const auto parameters = layer.named_parameters();
  return at::linear(mixed.transpose(0, 1).reshape({mixed.size(1), kRelativeDim}),
                    parameters["output.weight"], parameters["output.bias"]);
}

TEST(ShawPositions, FollowTheirFormula) {
  for (const bool is_causal : {false, true}) {
    const auto layer = test::attention_layer(
        "type: full", options_with("shaw", {{"max_distance", "3"}}, is_causal));
    const auto x = relative_tokens(9);
    const auto parts = heads_of(x, *layer);
    const auto parameters = layer->named_parameters();
    const auto& keys = parameters["core.shaw.keys"];
    const auto& values = parameters["core.shaw.values"];
    auto scores = at::full({kRelativeHeads, 9, 9}, -INFINITY);
    for (int64_t i = 0; i < 9; ++i) {
      for (int64_t j = 0; j < (is_causal ? i + 1 : 9); ++j) {
        const auto distance = std::clamp<int64_t>(j - i, -3, 3) + 3;
        scores.select(1, i).select(1, j).copy_(
            (parts[0].select(1, i) * (parts[1].select(1, j) + keys[distance])).sum(-1) /
            std::sqrt(kRelativeWidth));
      }
    }
    const auto weights = scores.softmax(-1);
    auto mixed = at::zeros({kRelativeHeads, 9, kRelativeWidth});
    for (int64_t i = 0; i < 9; ++i) {
      for (int64_t j = 0; j < 9; ++j) {
        const auto distance = std::clamp<int64_t>(j - i, -3, 3) + 3;
        mixed.select(1, i).add_(weights.select(1, i).select(1, j).unsqueeze(1) *
                                (parts[2].select(1, j) + values[distance]));
      }
    }
    EXPECT_TRUE(test::near(layer->forward(x, test::context_of({0, 9})), outputs_of(mixed, *layer)));
  }
}

TEST(TransformerXlPositions, FollowTheirFormula) {
  const auto layer = test::attention_layer("type: full", options_with("transformer_xl", {}));
  const auto x = relative_tokens(7);
  const auto parts = heads_of(x, *layer);
  const auto parameters = layer->named_parameters();
  const auto& u = parameters["core.transformer_xl.content_bias"];
  const auto& w = parameters["core.transformer_xl.position_bias"];
  auto scores = at::empty({kRelativeHeads, 7, 7});
  for (int64_t i = 0; i < 7; ++i) {
    for (int64_t j = 0; j < 7; ++j) {
      const auto frequencies =
          at::pow(10000.0, -at::arange(0, kRelativeDim, 2, at::kFloat) / kRelativeDim);
      const auto angles = static_cast<double>(i - j) * frequencies;
      const auto r = at::matmul(parameters["core.transformer_xl.projection"],
                                at::cat({angles.sin(), angles.cos()}))
                         .view({kRelativeHeads, kRelativeWidth});
      const auto query = parts[0].select(1, i);
      scores.select(1, i).select(1, j).copy_(
          ((query + u) * parts[1].select(1, j) + (query + w) * r).sum(-1) /
          std::sqrt(kRelativeWidth));
    }
  }
  const auto mixed = at::matmul(scores.softmax(-1), parts[2]);
  EXPECT_TRUE(test::near(layer->forward(x, test::context_of({0, 7})), outputs_of(mixed, *layer)));
}

// Only distances count: a window has the same weights wherever it is in the text.
TEST(RelativePositions, DoNotChangeWithTheShift) {
  for (const std::string type : {"shaw", "transformer_xl"}) {
    const auto layer =
        test::attention_layer("type: window, window: 3", options_with(type, {}, true));
    const auto x = at::cat({relative_tokens(6), relative_tokens(6)});
    const auto y = layer->forward(x, test::context_of({0, 12}));
    EXPECT_TRUE(test::near(y.slice(0, 8), y.slice(0, 2, 6))) << type;
  }
}

TEST(RelativePositions, WithoutParametersAreNone) {
  for (const std::string type : {"shaw", "transformer_xl"}) {
    auto options = options_with(type, {});
    const auto layer = test::attention_layer("type: full", options);
    const at::NoGradGuard guard;
    for (auto& parameter : layer->named_parameters()) {
      if (parameter.key().starts_with("core.")) {
        parameter.value().zero_();
      }
    }
    options.position_modifiers = {};
    const auto plain = test::attention_layer("type: full", options);
    for (auto& parameter : plain->named_parameters()) {
      parameter.value().copy_(layer->named_parameters()[parameter.key()]);
    }
    const auto x = relative_tokens(10);
    const auto context = test::context_of({0, 3, 10});
    EXPECT_TRUE(test::near(layer->forward(x, context), plain->forward(x, context))) << type;
  }
}

/// Two layers with the same vectors: a stack that shares them has them once, and their gradient is
/// the sum over the layers.
TEST(ShawPositions, MayBeSharedByAllLayers) {
  const auto stack_with = [](const std::string& share) {
    auto section =
        test::section("model.position", {{"max_distance", "3"}, {"share_layers", share}});
    const auto position = position_types().at("shaw").read(section)(
        {.dim = kRelativeDim, .heads = kRelativeHeads, .head_dim = kRelativeWidth});
    const BlockOptions block{
        .attention = {.dim = kRelativeDim, .heads = kRelativeHeads, .dropout = 0},
        .feed_forward = {.dim = kRelativeDim, .width = 12},
        .norm = {.dim = kRelativeDim, .epsilon = 1e-5},
        .dropout = 0};
    return Stack(StackOptions{.layers = {block, block}, .positions = {position}});
  };
  auto shared = stack_with("true");
  auto separate = stack_with("false");
  test::fill_parameters(*shared);
  const auto name_of = [](const std::string& name) {
    const auto part = name.find("core.shaw.");
    return part == std::string::npos ? name : "shared_positions." + name.substr(part + 10);
  };
  {
    const at::NoGradGuard guard;
    for (auto& parameter : separate->named_parameters()) {
      parameter.value().copy_(shared->named_parameters()[name_of(parameter.key())]);
    }
  }
  auto context = test::context_of({0, 4, 9});
  context.is_training = true;
  const auto x = relative_tokens(9);
  const auto expected = separate->forward(x, context);
  const auto slope = at::arange(x.numel(), at::kFloat).cos().view_as(x);
  (expected * slope).sum().backward();
  const auto parameters = separate->named_parameters();
  for (const bool recomputes : {false, true}) {
    test::clear_gradients(*shared);
    context.recomputes_layers = recomputes;
    const auto y = shared->forward(x, context);
    EXPECT_TRUE(test::near(y, expected, 1e-6));
    (y * slope).sum().backward();
    for (const std::string part : {"keys", "values"}) {
      const auto sum = parameters["0.attention.core.shaw." + part].grad() +
                       parameters["1.attention.core.shaw." + part].grad();
      EXPECT_TRUE(
          test::near(shared->named_parameters()["shared_positions." + part].grad(), sum, 1e-4))
          << part;
    }
  }
}

TEST(RelativePositions, NeedScores) {
  const auto options = options_with("shaw", {});
  const auto strided = test::attention_layer("type: strided", options);
  EXPECT_TRUE(strided->adds_positions());
  EXPECT_NE(strided->named_parameters().find("core.dense.shaw.keys"), nullptr);
  EXPECT_FALSE(test::attention_layer("type: performer", options)->adds_positions());
}

}  // namespace
}  // namespace weft::nn
