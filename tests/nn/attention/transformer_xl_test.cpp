#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/attention/attention_layers.h"
#include "nn/carried_state.h"

/// Attention with a memory of earlier sequences of the text.
namespace weft::nn {
namespace {

std::shared_ptr<Attention> layer_with_memory(int64_t memory, bool is_rotary = false) {
  auto options = test::attention_options(true);
  options.rotary.theta = is_rotary ? 100 : 0;
  return test::attention_layer("type: transformer_xl, memory: " + std::to_string(memory), options);
}

/// The outputs of segments of these lengths, one after another.
at::Tensor by_segments(Attention& layer, const at::Tensor& x, const std::vector<int64_t>& lengths) {
  CarriedState state;
  std::vector<at::Tensor> outputs;
  int64_t begin = 0;
  for (const auto length : lengths) {
    auto context = test::context_of({0, length});
    context.carried_state = &state;
    context.streams = {4};
    outputs.push_back(layer.forward(x.narrow(0, begin, length), context));
    state.commit();
    begin += length;
  }
  return at::cat(outputs);
}

TEST(TransformerXlAttention, WithALongMemorySegmentsAreOneText) {
  const auto x = test::attention_tokens(20);
  for (const bool is_rotary : {false, true}) {
    const auto layer = layer_with_memory(20, is_rotary);
    const auto whole = layer->forward(x, test::context_of({0, 20}));
    EXPECT_TRUE(test::near(by_segments(*layer, x, {20}), whole));
    EXPECT_TRUE(test::near(by_segments(*layer, x, {7, 1, 12}), whole)) << is_rotary;
    EXPECT_TRUE(test::near(by_segments(*layer, x, {5, 5, 5, 5}), whole)) << is_rotary;
  }
}

TEST(TransformerXlAttention, SeesTheLastTokensOfEarlierSegments) {
  const auto layer = layer_with_memory(3);
  const auto x = 0.2 * test::attention_tokens(15);  // no weight vanishes
  const auto y = by_segments(*layer, x, {5, 5, 5});
  for (int64_t t = 0; t < 10; ++t) {
    auto edited = x.clone();
    edited[t].add_(1);
    const auto change = (by_segments(*layer, edited, {5, 5, 5}) - y).abs().amax(1);
    for (int64_t i = 0; i < 15; ++i) {
      const auto segment = i / 5 * 5;
      EXPECT_EQ(change[i].item<double>() > 0, t <= i && t >= segment - 3) << t << " " << i;
    }
  }
}

TEST(TransformerXlAttention, StreamsHaveAMemoryEach) {
  const auto layer = layer_with_memory(6);
  const auto x = test::attention_tokens(16);
  CarriedState state;
  auto context = test::context_of({0, 4, 8});
  context.carried_state = &state;
  context.streams = {1, 2};
  layer->forward(x.narrow(0, 0, 8), context);
  state.commit();
  const auto second = layer->forward(x.narrow(0, 8, 8), context);
  const auto first_text = at::cat({x.narrow(0, 0, 4), x.narrow(0, 8, 4)});
  const auto second_text = at::cat({x.narrow(0, 4, 4), x.narrow(0, 12, 4)});
  EXPECT_TRUE(
      test::near(second.narrow(0, 0, 4), by_segments(*layer, first_text, {4, 4}).narrow(0, 4, 4)));
  EXPECT_TRUE(
      test::near(second.narrow(0, 4, 4), by_segments(*layer, second_text, {4, 4}).narrow(0, 4, 4)));
  context.streams = {1, 3};  // the second is new
  state.commit();
  EXPECT_TRUE(test::near(layer->forward(x.narrow(0, 8, 8), context).narrow(0, 4, 4),
                         layer->forward(x.narrow(0, 12, 4), test::context_of({0, 4}))));
}

TEST(TransformerXlAttention, TheMemoryGetsNoGradient) {
  const auto layer = layer_with_memory(6);
  const auto x = test::attention_tokens(8).requires_grad_();
  const auto y = by_segments(*layer, x, {4, 4}).narrow(0, 4, 4);
  const auto gradient = torch::autograd::grad({y.square().sum()}, {x})[0];
  EXPECT_EQ(gradient.narrow(0, 0, 4).abs().sum().item<double>(), 0);
  EXPECT_GT(gradient.narrow(0, 4, 4).abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace weft::nn
