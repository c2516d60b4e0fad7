#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/attention/attention_layers.h"
#include "nn/auxiliary_losses.h"
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

/// A layer with the keys of `keys`, and the parameters of `like`.
std::shared_ptr<Attention> compressive_layer(const std::string& keys,
                                             const std::shared_ptr<Attention>& like = nullptr) {
  const auto layer =
      test::attention_layer("type: compressive, " + keys, test::attention_options(true));
  if (like != nullptr) {
    const at::NoGradGuard guard;
    for (auto& parameter : layer->named_parameters()) {
      if (const auto* same = like->named_parameters().find(parameter.key())) {
        parameter.value().copy_(*same);
      }
    }
  }
  return layer;
}

TEST(CompressiveAttention, WithoutCompressionItIsALongerMemory) {
  const auto x = test::attention_tokens(30);
  const auto longer = layer_with_memory(9);
  for (const std::string name : {"mean", "max"}) {
    const auto layer = compressive_layer(
        "memory: 4, compressed_memory: 5, compression_rate: 1, compression: " + name, longer);
    for (const auto& lengths :
         {std::vector<int64_t>{5, 5, 5, 5, 5, 5}, std::vector<int64_t>{3, 11, 1, 2, 13}}) {
      EXPECT_TRUE(test::near(by_segments(*layer, x, lengths), by_segments(*longer, x, lengths)));
    }
  }
}

/// The 4 tokens of the first segment leave the memory of 2 as one vector and a token that waits for
/// its window: 3 rows in whole windows of 2 are 1 vector.
TEST(CompressiveAttention, CompressesWholeWindowsThatLeaveTheMemory) {
  const auto x = test::attention_tokens(12);
  CarriedState state;
  const auto layer =
      compressive_layer("memory: 2, compressed_memory: 3, compression_rate: 2, compression: mean");
  const auto run = [&](int64_t begin, int64_t length) {
    auto context = test::context_of({0, length});
    context.carried_state = &state;
    context.streams = {0};
    layer->forward(x.narrow(0, begin, length), context);
    state.commit();
  };
  run(0, 5);
  EXPECT_TRUE(state.get(0, "memory/0").equal(x.narrow(0, 2, 3)));
  EXPECT_TRUE(test::near(state.get(0, "compressed_memory/0")[0], (x[0] + x[1]) / 2));
  run(5, 1);
  EXPECT_TRUE(state.get(0, "memory/0").equal(x.narrow(0, 4, 2)));
  EXPECT_EQ(state.get(0, "compressed_memory/0").size(0), 2);
  run(6, 1);
  EXPECT_EQ(state.get(0, "compressed_memory/0").size(0), 2) << "kept, though nothing left";
  run(7, 5);
  EXPECT_EQ(state.get(0, "compressed_memory/0").size(0), 3) << "the last ones";
  EXPECT_TRUE(test::near(state.get(0, "compressed_memory/0")[2], (x[8] + x[9]) / 2));
}

/// arXiv:1911.05507, algorithm 2: the loss moves the compression and nothing else.
TEST(CompressiveAttention, TheLossTrainsTheCompressionAlone) {
  const auto layer = compressive_layer("memory: 3, compressed_memory: 4, compression_rate: 2");
  const auto x = test::attention_tokens(12).requires_grad_();
  const auto loss_of = [&] {
    AuxiliaryLosses losses;
    CarriedState state;
    for (int64_t begin = 0; begin < 12; begin += 6) {
      auto context = test::context_of({0, 6});
      context.carried_state = &state;
      context.streams = {4};
      context.auxiliary_losses = &losses;
      layer->forward(x.narrow(0, begin, 6), context);
      state.commit();
    }
    EXPECT_EQ(losses.all().size(), 2U);
    EXPECT_EQ(losses.all()[0].name, "compression");
    return losses.all()[0].sum + losses.all()[1].sum;
  };
  const auto first = loss_of();
  first.backward();
  EXPECT_FALSE(x.grad().defined());
  for (const auto& parameter : layer->named_parameters()) {
    const auto& gradient = parameter.value().grad();
    EXPECT_EQ(gradient.defined() && gradient.abs().sum().item<double>() > 0,
              parameter.key().starts_with("compression."))
        << parameter.key();
  }
  for (int step = 0; step < 30; ++step) {
    for (auto& parameter : layer->parameters()) {
      if (parameter.grad().defined()) {
        parameter.detach().sub_(1e-3 * parameter.grad());
        parameter.grad().zero_();
      }
    }
    loss_of().backward();
  }
  EXPECT_LT(loss_of().item<double>(), 0.8 * first.item<double>());
}

/// The mean over the features of the squared differences, summed over the tokens.
TEST(CompressiveAttention, TheLossIsThatOfTheAttentionToTheOldTokens) {
  const auto layer =
      compressive_layer("memory: 1, compressed_memory: 4, compression_rate: 2, compression: mean");
  const auto x = test::attention_tokens(3);
  AuxiliaryLosses losses;
  CarriedState state;
  auto context = test::context_of({0, 3});
  context.carried_state = &state;
  context.streams = {0};
  context.auxiliary_losses = &losses;
  layer->forward(x, context);
  const auto options = test::attention_options(true);
  const auto parameters = layer->named_parameters();
  const auto project = [&](const at::Tensor& rows) {
    auto all = at::linear(rows, parameters["qkv.weight"],
                          parameters.contains("qkv.bias") ? parameters["qkv.bias"] : at::Tensor());
    return all.view({rows.size(0), 3, options.heads, -1}).permute({1, 2, 0, 3});  // (3, H, n, K)
  };
  const auto attend = [&](const at::Tensor& rows) {
    const auto own = project(rows);
    const auto scores = at::matmul(project(x)[0], own[1].transpose(1, 2)) /
                        std::sqrt(static_cast<double>(own.size(3)));
    return at::matmul(scores.softmax(2), own[2]);
  };
  const auto old = x.narrow(0, 0, 2);
  const auto wanted =
      (attend(old) - attend(old.mean(0, true))).square().sum() / static_cast<double>(options.dim);
  EXPECT_NEAR(losses.all().at(0).sum.item<double>(), wanted.item<double>(),
              1e-5 * wanted.item<double>());
}

}  // namespace
}  // namespace weft::nn
