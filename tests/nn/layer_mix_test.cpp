#include "nn/layer_mix.h"

#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/stack.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kMixDim = 8;
constexpr int64_t kMixLayers = 3;

at::Tensor mix_input(int64_t rows, double phase = 0) {
  return (at::arange(rows * kMixDim, at::kFloat) * 0.7 + phase).sin().view({rows, kMixDim});
}

StackOptions mix_stack(std::optional<LayerMixOptions> mix, double dropout = 0) {
  const BlockOptions block{.attention = {.dim = kMixDim, .heads = 2, .dropout = dropout},
                           .feed_forward = {.dim = kMixDim, .width = 12},
                           .norm = {.dim = kMixDim, .epsilon = 1e-5},
                           .norm_placement = NormPlacement::kPre,
                           .dropout = dropout};
  return {.layers = std::vector<BlockOptions>(kMixLayers, block), .norm = block.norm, .mix = mix};
}

/// The parameters of a stack, and as much of another with a mix.
std::pair<Stack, Stack> plain_and_mixed(const LayerMixOptions& mix) {
  Stack plain(mix_stack({}));
  Stack mixed(mix_stack(mix));
  test::fill_parameters(*plain);
  const at::NoGradGuard guard;
  for (auto& parameter : mixed->named_parameters()) {
    const auto* same = plain->named_parameters().find(parameter.key());
    if (same == nullptr) {
      parameter.value().zero_();
    } else {
      parameter.value().copy_(*same);
    }
  }
  return {plain, mixed};
}

/// The states of all layers, the last one with the final norm.
std::vector<at::Tensor> states_of(Stack& stack,
                                  const at::Tensor& x,
                                  const ForwardContext& context) {
  std::vector<at::Tensor> states{x};
  const auto shared = stack->with_shared_scores(context, x.device());
  for (std::size_t layer = 0; layer < kMixLayers; ++layer) {
    states.push_back(stack->forward_layer(layer, states.back(), shared));
  }
  states.back() = stack->final_norm(states.back());
  return states;
}

TEST(LayerMix, IsTheWeightedSumOfTheLayers) {
  const auto weights = at::tensor({0.2F, -1.0F, 0.3F, 0.5F}).view({2, 2}).requires_grad_();
  std::vector<at::Tensor> layers{mix_input(5).requires_grad_(), mix_input(5, 1).requires_grad_()};
  const auto by_hand = [&](int64_t k) {
    return weights[0][k] * layers[0] + weights[1][k] * layers[1];
  };
  const auto expected = at::cat({by_hand(0), by_hand(1)}, 1);
  const auto mixed = mix_layers(layers, weights);
  EXPECT_TRUE(test::near(mixed, expected, 1e-6));
  const auto slope = at::arange(mixed.numel(), at::kFloat).cos().view_as(mixed);
  const std::vector<at::Tensor> inputs{layers[0], layers[1], weights};
  const auto found = torch::autograd::grad({mixed}, inputs, {slope});
  const auto wanted = torch::autograd::grad({expected}, inputs, {slope});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(test::near(found[i], wanted[i], 1e-5)) << i;
  }
}

TEST(LayerMix, OfEqualLogitsIsTheMeanOfAllLayers) {
  auto [plain, mixed] = plain_and_mixed({});
  const auto x = mix_input(7);
  const auto context = test::context_of({0, 3, 7});
  const auto mean = at::stack(states_of(plain, x, context)).mean(0);
  EXPECT_TRUE(test::near(mixed->forward(x, context), mean, 1e-5));
}

TEST(LayerMix, OfTheLastLayerAloneIsThePlainStack) {
  auto [plain, mixed] = plain_and_mixed({.outputs = 2});
  const auto x = mix_input(7);
  const auto context = test::context_of({0, 3, 7});
  {
    const at::NoGradGuard guard;
    mixed->named_parameters()["mix.weight"].select(0, kMixLayers).fill_(1e4);
  }
  const auto y = plain->forward(x, context);
  EXPECT_TRUE(test::near(mixed->forward(x, context), at::cat({y, y}, 1), 1e-5));
}

TEST(LayerMix, OfSelectedRowsEqualsTheirRows) {
  auto [plain, mixed] = plain_and_mixed({.outputs = 2});
  const auto x = mix_input(7);
  const auto context = test::context_of({0, 3, 7});
  const auto rows = RowSelection::from_rows({1, 5, 6}, context, 0);
  EXPECT_TRUE(test::near(mixed->forward_selected(x, context, rows),
                         rows.select(mixed->forward(x, context)), 1e-6));
}

/// arXiv:1808.07561, section 3: the first layers get a gradient past the others.
TEST(LayerMix, GivesTheEmbeddingsAGradientPastTheLayers) {
  for (const bool is_mixed : {false, true}) {
    Stack stack(mix_stack(is_mixed ? std::optional(LayerMixOptions()) : std::nullopt));
    test::fill_parameters(*stack);
    {
      const at::NoGradGuard guard;
      stack->named_parameters()["norm.weight"].zero_();  // nothing passes the last layer
      if (is_mixed) {
        stack->named_parameters()["mix.weight"].zero_();
      }
    }
    const auto x = mix_input(4).requires_grad_();
    const auto y = stack->forward(x, test::context_of({0, 4}));
    const auto slope = torch::autograd::grad({y.sum()}, {x})[0];
    EXPECT_EQ(slope.abs().max().item<double>() > 0, is_mixed);
  }
}

/// The mask is drawn once per step, whatever the micro-batch.
TEST(LayerMix, DropsTheSameLogitsInAllMicroBatches) {
  LayerMix mix(kMixLayers, LayerMixOptions{.outputs = 4, .weight_dropout = 0.5});
  test::fill_parameters(*mix);
  const std::vector<at::Tensor> layers{mix_input(6), mix_input(6, 1), mix_input(6, 2)};
  auto context = test::context_of({0, 6});
  const auto plain = mix->forward(layers, context);
  context.is_training = true;
  context.seed = 5;
  const auto dropped = mix->forward(layers, context);
  EXPECT_FALSE(test::near(dropped, plain, 1e-3));
  context.first_row = 100;
  EXPECT_TRUE(at::equal(mix->forward(layers, context), dropped));
  context.step = 1;
  EXPECT_FALSE(test::near(mix->forward(layers, context), dropped, 1e-3));
}

TEST(LayerMix, OfBfloat16SumsInSinglePrecision) {
  LayerMix mix(kMixLayers, LayerMixOptions{});
  test::fill_parameters(*mix);
  std::vector<at::Tensor> layers;
  for (int64_t e = 0; e < kMixLayers; ++e) {
    layers.push_back(mix_input(6, static_cast<double>(e)).to(at::kBFloat16));
  }
  const auto context = test::context_of({0, 6});
  const auto narrow = mix->forward(layers, context);
  ASSERT_EQ(narrow.scalar_type(), at::kBFloat16);
  for (auto& layer : layers) {
    layer = layer.to(at::kFloat);
  }
  EXPECT_TRUE(at::equal(narrow, mix->forward(layers, context).to(at::kBFloat16)));
}

}  // namespace
}  // namespace weft::nn
