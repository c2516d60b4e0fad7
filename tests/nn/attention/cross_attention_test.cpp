#include "nn/attention/cross_attention.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/attention/attention_recorder.h"
#include "nn/stack.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kCrossDim = 6;
constexpr int64_t kCrossHeads = 2;

at::Tensor wave(int64_t rows, int64_t columns, double step) {
  return at::arange(rows * columns, at::kFloat).view({rows, columns}).mul(step).sin();
}

/// Two targets of 2 and 3 tokens with sources of 4 and 1.
struct CrossInput {
  at::Tensor x = wave(5, kCrossDim, 0.7);
  EncoderStates encoder_states = {.states = wave(5, kCrossDim, 0.4),
                                  .layout = kernels::Layout::from_offsets({0, 4, 5}, at::kCPU)};
  ForwardContext context;

  CrossInput() {
    context.layout = kernels::Layout::from_offsets({0, 2, 5}, at::kCPU);
    context.encoder_states = &encoder_states;
  }
};

void fill(torch::nn::Module& module) {
  const at::NoGradGuard guard;
  double step = 0.3;
  for (auto& parameter : module.parameters()) {
    parameter.copy_(at::arange(parameter.numel(), at::kFloat).mul(step).cos().view_as(parameter));
    step += 0.1;
  }
}

TEST(CrossAttention, WeightsAreTheSoftmaxOfTheScoresOfEachHead) {
  const CrossInput input;
  CrossAttention attention({.dim = kCrossDim, .heads = kCrossHeads});
  fill(attention);
  const at::NoGradGuard guard;
  const auto weights = attention.weights(input.x, input.context);
  ASSERT_EQ(weights.size(), 2U);
  const auto& parameters = attention.named_parameters();
  const auto project = [&](const std::string& name, const at::Tensor& x) {
    return at::linear(x, parameters[name + ".weight"], parameters[name + ".bias"]);
  };
  const auto query = project("query", input.x);
  const auto key_value = project("key_value", input.encoder_states.states).chunk(2, 1);
  const auto heads_of = [](const at::Tensor& rows) {
    return rows.view({rows.size(0), kCrossHeads, -1}).transpose(0, 1);  // (H, L, K)
  };
  const std::vector<std::pair<int64_t, int64_t>> targets = {{0, 2}, {2, 3}};
  const std::vector<std::pair<int64_t, int64_t>> sources = {{0, 4}, {4, 1}};
  std::vector<at::Tensor> mixed;
  for (std::size_t b = 0; b < 2; ++b) {
    const auto q = heads_of(query.narrow(0, targets[b].first, targets[b].second));
    const auto k = heads_of(key_value[0].narrow(0, sources[b].first, sources[b].second));
    const auto v = heads_of(key_value[1].narrow(0, sources[b].first, sources[b].second));
    const auto expected = (q.matmul(k.transpose(1, 2)) / std::sqrt(3.0)).softmax(-1);
    EXPECT_TRUE(at::allclose(weights[b], expected, 1e-5, 1e-6)) << b;
    mixed.push_back(expected.matmul(v).transpose(0, 1).reshape({targets[b].second, -1}));
  }
  EXPECT_TRUE(at::allclose(attention.forward(input.x, input.context),
                           project("output", at::cat(mixed)), 1e-4, 1e-5));
}

TEST(CrossAttention, ARecorderKeepsItApartFromSelfAttention) {
  const CrossInput input;
  const AttentionOptions own{.dim = kCrossDim, .heads = kCrossHeads, .is_causal = true};
  const BlockOptions block{.order = "acf",
                           .attention = own,
                           .cross_attention = {.dim = kCrossDim, .heads = kCrossHeads},
                           .feed_forward = {.dim = kCrossDim, .width = 8},
                           .norm = {.dim = kCrossDim}};
  Stack stack(StackOptions{.layers = {block, block}, .first_layer = 2});
  fill(*stack);
  AttentionRecorder recorder({2, 3});
  auto context = input.context;
  context.attention_recorder = &recorder;
  stack->forward(input.x, context);
  for (const int64_t layer : {2, 3}) {
    EXPECT_EQ(recorder.layers().at(layer)[1].sizes(), (std::vector<int64_t>{2, 3, 3}));
    EXPECT_EQ(recorder.cross_layers().at(layer)[0].sizes(), (std::vector<int64_t>{2, 2, 4}));
  }
}

}  // namespace
}  // namespace weft::nn
