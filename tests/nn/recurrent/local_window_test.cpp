#include "nn/recurrent/local_window.h"

#include <cmath>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "nn/recurrent/encoder_attention.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

/// Attention with the dot product, of states that are `width` wide.
EncoderAttention attention_with(const std::string& local, const std::string& keys, int64_t width) {
  auto section = config::Document::parse(keys, "test.yaml").root();
  return EncoderAttention({.query_width = width,
                           .value_width = width,
                           .make_score = default_component(score_functions(), "dot").make,
                           .make_window = local_windows().at(local).read(section)});
}

/// Sources of 5 and 2 tokens.
const std::vector<int64_t> kTwoSources = {0, 5, 7};

at::Tensor weights_of(EncoderAttention& attention,
                      const at::Tensor& states,
                      const AttentionQueries& queries) {
  const auto context = test::context_of(kTwoSources);
  return attention.attend(queries, attention.read(states, context.layout), {}, context).weights;
}

TEST(LocalWindow, MonotonicAttendsAroundThePositionOfTheQuery) {
  auto attention = attention_with("monotonic", "{window: 3}", 1);                    // D = 1
  const auto states = at::tensor({1.F, 2.F, 3.F, 4.F, 5.F, 1.F, 2.F}).view({7, 1});  // the scores
  const auto found =
      weights_of(attention, states,
                 {.states = at::ones({2, 3, 1}),
                  .positions = at::tensor({0, 2, 9, 0, 1, 9}, at::kLong).view({2, 3})});
  // softmax(1, 2) and softmax(2, 3, 4); the centre of position 9 is the last token
  const auto expected = at::tensor({0.2689414F, 0.7310586F, 0.F,        0.F,        0.F,         //
                                    0.F,        0.0900306F, 0.2447285F, 0.6652410F, 0.F,         //
                                    0.F,        0.F,        0.F,        0.2689414F, 0.7310586F,  //
                                    0.2689414F, 0.7310586F, 0.F,        0.F,        0.F,         //
                                    0.2689414F, 0.7310586F, 0.F,        0.F,        0.F,         //
                                    0.2689414F, 0.7310586F, 0.F,        0.F,        0.F})
                            .view({2, 3, 5});
  EXPECT_TRUE(test::near(found, expected, 1e-6)) << found;
}

TEST(LocalWindow, PredictiveMultipliesTheWeightsByAGaussian) {
  auto attention = attention_with("predictive", "{window: 4}", 1);  // D = 2, sigma = 1
  test::set_parameters(
      attention, {{"local.query.weight", at::ones({1, 1})}, {"local.vector", at::ones({1, 1})}});
  // All scores are 0. The first query of each source: p = S sigmoid(tanh 0) = S / 2. The second: p
  // = S sigmoid(tanh 30) = S sigmoid(1).
  const auto queries = at::tensor({0.F, 30.F, 0.F, 30.F}).view({2, 2, 1});
  const auto found = weights_of(attention, at::zeros({7, 1}),
                                {.states = queries, .positions = at::zeros({2, 2}, at::kLong)});
  const auto gauss = [](double distance) {
    return static_cast<float>(std::exp(-distance * distance / 2));
  };
  const double p = 5 / (1 + std::exp(-1));  // 3.655: the tokens 2, 3, 4
  const double q = p * 2 / 5;               // 1.462: both tokens
  const auto expected = at::tensor({0.F,
                                    gauss(1.5) / 4,
                                    gauss(0.5) / 4,
                                    gauss(0.5) / 4,
                                    gauss(1.5) / 4,  // p = 2.5
                                    0.F,
                                    0.F,
                                    gauss(p - 2) / 3,
                                    gauss(p - 3) / 3,
                                    gauss(p - 4) / 3,  //
                                    gauss(1) / 2,
                                    gauss(0) / 2,
                                    0.F,
                                    0.F,
                                    0.F,  // p = 1
                                    gauss(q) / 2,
                                    gauss(q - 1) / 2,
                                    0.F,
                                    0.F,
                                    0.F})
                            .view({2, 2, 5});
  EXPECT_TRUE(test::near(found, expected, 1e-6)) << found;
}

TEST(LocalWindow, SeesATokenWhereverItsCentreIs) {
  auto attention = attention_with("predictive", "{window: 2}", 1);
  test::set_parameters(attention, {{"local.query.weight", at::ones({1, 1})},
                                   {"local.vector", at::full({1, 1}, 200.0)}});
  const auto queries = at::linspace(-3, 3, 2 * 121).view({2, 121, 1});  // p from 0 to S
  const auto found = weights_of(attention, at::zeros({7, 1}),
                                {.states = queries, .positions = at::zeros({2, 121}, at::kLong)});
  EXPECT_TRUE(at::isfinite(found).all().item<bool>());
  EXPECT_GT(found.sum(2).min().item<float>(), 0);
  EXPECT_EQ(found.slice(0, 1).slice(2, 2).max().item<float>(), 0);
}

TEST(LocalWindow, HasTheGradientsOfCentralDifferences) {
  for (const auto* local : {"monotonic", "predictive"}) {
    auto attention = attention_with(local, "{window: 4}", 3);
    attention.to(at::kDouble);
    test::fill_parameters(attention, 0.9);
    auto states = at::arange(21, at::kDouble).mul(0.7).sin().view({7, 3}).requires_grad_();
    auto queries = at::arange(12, at::kDouble).mul(1.3).cos().view({2, 2, 3}).requires_grad_();
    const auto loss = [&] {
      const auto context = test::context_of(kTwoSources);
      const auto result = attention.attend(
          {.states = queries, .positions = at::tensor({1, 3, 0, 1}, at::kLong).view({2, 2})},
          attention.read(states, context.layout), {}, context);
      return (result.context * at::arange(12, at::kDouble).view({2, 2, 3})).sum();
    };
    loss().backward();
    auto inputs = attention.parameters();
    inputs.push_back(states);
    inputs.push_back(queries);
    for (const auto& input : inputs) {
      const auto values = input.detach().view({-1});
      for (int64_t i = 0; i < values.numel(); ++i) {
        constexpr double kStep = 1e-6;
        const auto value = values[i].item<double>();
        values[i] = value + kStep;
        const auto above = loss().item<double>();
        values[i] = value - kStep;
        const auto below = loss().item<double>();
        values[i] = value;
        EXPECT_NEAR(input.grad().view({-1})[i].item<double>(), (above - below) / (2 * kStep), 1e-6)
            << local << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace weft::nn
