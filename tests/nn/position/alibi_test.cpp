#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/attention/attention_types.h"
#include "nn/decoding_state.h"
#include "nn/position/position_types.h"
#include "nn/stack.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kAlibiDim = 8;
constexpr int64_t kAlibiHeads = 2;

at::Tensor alibi_rows(int64_t count) {
  return at::arange(count * kAlibiDim, at::kFloat).view({count, kAlibiDim}).mul(0.7).sin();
}

StackOptions alibi_stack(bool is_causal, const Positions& positions) {
  const BlockOptions block{
      .attention = {.dim = kAlibiDim, .heads = kAlibiHeads, .is_causal = is_causal},
      .feed_forward = {.dim = kAlibiDim, .width = 12},
      .norm = {.dim = kAlibiDim}};
  return {.layers = {block, block}, .positions = positions};
}

std::shared_ptr<Position> alibi_with(std::vector<double> slopes) {
  return alibi_position({.slopes = std::move(slopes)})({.heads = kAlibiHeads});
}

TEST(Alibi, HasSlopesForAnyNumberOfHeads) {
  std::vector<double> slopes{0.5, 0.25, 0.125, 1. / 16, 1. / 32, 1. / 64, 1. / 128, 1. / 256};
  EXPECT_EQ(alibi_slopes(8), slopes);
  for (const double exponent : {-0.5, -1.5, -2.5, -3.5}) {  // of 16 heads: the first, third, ...
    slopes.push_back(std::exp2(exponent));
  }
  EXPECT_EQ(alibi_slopes(12), slopes);
  EXPECT_EQ(alibi_slopes(1), std::vector<double>{1. / 256});
}

TEST(Alibi, ScoresAndGradientsAreThoseOfADirectEvaluation) {
  for (const bool is_causal : {false, true}) {
    const auto layer = make_full_attention({.dim = kAlibiDim,
                                            .heads = kAlibiHeads,
                                            .is_causal = is_causal,
                                            .has_distance_bias = true});
    test::fill_parameters(*layer);
    auto context = test::context_of({0, 5});
    context.distance_bias = alibi_with({0.5, 2})->bias->forward(9, at::kCPU);
    const auto x = alibi_rows(5).requires_grad_();
    const auto parameters = layer->named_parameters();
    const auto qkv = at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"])
                         .view({5, 3, kAlibiHeads, kAlibiDim / kAlibiHeads})
                         .permute({1, 2, 0, 3});  // (3, H, L, K)
    const auto places = at::arange(5, at::kFloat);
    const auto slopes = at::tensor({0.5F, 2.0F}).view({2, 1, 1});
    auto scores = at::matmul(qkv[0], qkv[1].transpose(1, 2)) / 2 -
                  slopes * (places.unsqueeze(1) - places).abs();  // (H, L, L)
    if (is_causal) {
      scores = scores.masked_fill(at::ones({5, 5}, at::kBool).triu(1), -INFINITY);
    }
    const auto weights = scores.softmax(-1);
    const auto mixed = at::matmul(weights, qkv[2]).transpose(0, 1).reshape({5, kAlibiDim});
    const auto expected = at::linear(mixed, parameters["output.weight"], parameters["output.bias"]);
    const auto y = layer->forward(x, context);
    EXPECT_TRUE(test::near(y, expected));
    EXPECT_TRUE(test::near(layer->weights(x, context)[0], weights));
    const auto factors = at::arange(y.numel()).cos().view_as(y);
    EXPECT_TRUE(test::near(torch::autograd::grad({(y * factors).sum()}, {x})[0],
                           torch::autograd::grad({(expected * factors).sum()}, {x})[0]));
  }
}

TEST(Alibi, SlopesOfZeroEqualNoPositions) {
  for (const bool is_causal : {false, true}) {
    StackImpl none(alibi_stack(is_causal, {}));
    StackImpl flat(alibi_stack(is_causal, {alibi_with({0, 0})}));
    StackImpl steep(alibi_stack(is_causal, {alibi_with({0.5, 2})}));
    for (auto* stack : {&none, &flat, &steep}) {
      test::fill_parameters(*stack);
    }
    const auto context = test::context_of({0, 3, 9});
    const auto expected = none.forward(alibi_rows(9), context);
    EXPECT_TRUE(test::near(flat.forward(alibi_rows(9), context), expected));
    EXPECT_FALSE(test::near(steep.forward(alibi_rows(9), context), expected));
  }
}

TEST(Alibi, BiasesAddUp) {
  StackImpl twice(alibi_stack(false, {alibi_with({0.5, 1}), alibi_with({0.25, 2})}));
  StackImpl once(alibi_stack(false, {alibi_with({0.75, 3})}));
  test::fill_parameters(twice);
  test::fill_parameters(once);
  const auto context = test::context_of({0, 3, 9});
  EXPECT_TRUE(
      test::near(twice.forward(alibi_rows(9), context), once.forward(alibi_rows(9), context)));
}

TEST(Alibi, OnlyDistancesCount) {
  auto options = alibi_stack(true, {alibi_with({0.5, 2})});
  for (auto& block : options.layers) {
    block.make_attention = window_attention(3);  // two layers reach 4 tokens back
  }
  StackImpl stack(options);
  test::fill_parameters(stack);
  const auto x = alibi_rows(12);
  const auto whole = stack.forward(x, test::context_of({0, 12}));
  const auto later = stack.forward(x.slice(0, 5), test::context_of({0, 7}));
  EXPECT_TRUE(test::near(whole.slice(0, 9), later.slice(0, 4)));
  const auto packed = stack.forward(at::cat({x.slice(0, 0, 4), x}), test::context_of({0, 4, 16}));
  EXPECT_TRUE(test::near(packed.slice(0, 4), whole));
}

TEST(Alibi, DecodingWithACacheEqualsTheWholePass) {
  const at::NoGradGuard no_grad;
  StackImpl stack(alibi_stack(true, {alibi_with({0.5, 2})}));
  test::fill_parameters(stack);
  const auto x = alibi_rows(7);
  const auto expected = stack.forward(x, test::context_of({0, 3, 7}));
  DecodingState state(2);
  ForwardContext context;
  context.decoding_state = &state;
  context.layout = state.begin_step({1, 2}, at::kCPU);
  stack.forward(at::cat({x.slice(0, 0, 1), x.slice(0, 3, 5)}), context);
  for (int64_t step = 0; step < 2; ++step) {
    context.layout = state.begin_step({1, 1}, at::kCPU);
    const auto found = stack.forward(at::stack({x[1 + step], x[5 + step]}), context);
    EXPECT_TRUE(test::near(found, at::stack({expected[1 + step], expected[5 + step]}))) << step;
  }
}

}  // namespace
}  // namespace weft::nn
