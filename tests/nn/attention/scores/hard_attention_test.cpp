#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/attention/attention_layers.h"
#include "nn/auxiliary_losses.h"
#include "nn/block.h"
#include "support/context.h"
#include "support/tensors.h"

/// Attention to one key, type `hard`.
namespace weft::nn {
namespace {

ForwardContext training_context(const std::vector<int64_t>& offsets, AuxiliaryLosses* losses) {
  auto context = test::context_of(offsets);
  context.is_training = true;
  context.seed = 5;
  context.step = 2;
  context.auxiliary_losses = losses;
  return context;
}

/// Offsets of `count` sequences of this length.
std::vector<int64_t> equal_offsets(int64_t count, int64_t length) {
  std::vector<int64_t> offsets{0};
  for (int64_t b = 0; b < count; ++b) {
    offsets.push_back(offsets.back() + length);
  }
  return offsets;
}

TEST(HardAttention, IsTheLimitOfSoftAttentionWithLargeScores) {
  for (const bool is_causal : {false, true}) {
    auto options = test::attention_options(is_causal);
    const auto hard = test::attention_layer("type: hard", options);
    options.scale = 1e6;
    const auto soft = test::attention_layer("type: full", options);
    const auto context = test::context_of({0, 1, 20, 84});
    const auto x = test::attention_tokens(84);
    EXPECT_TRUE(test::near(hard->forward(x, context), soft->forward(x, context), 1e-4));
  }
}

TEST(HardAttention, DrawsKeysAsOftenAsTheirWeightsSay) {
  const auto options = test::attention_options(/*is_causal=*/true);
  const auto hard = test::attention_layer("type: hard", options);
  const auto soft = test::attention_layer("type: full", options);
  constexpr int64_t kLength = 5;
  constexpr int64_t kCount = 4000;
  const auto x = test::attention_tokens(kLength);
  const auto expected = soft->weights(x, test::context_of({0, kLength}))[0];  // (H, L, L)
  const auto context = training_context(equal_offsets(kCount, kLength), nullptr);
  const auto weights = hard->weights(x.repeat({kCount, 1}), context);
  const auto all = at::stack(weights);  // (B, H, L, L)
  EXPECT_TRUE(at::equal(all.sum(3), at::ones({kCount, 4, kLength})));
  EXPECT_TRUE(at::equal(all.square(), all));
  EXPECT_TRUE(test::near(all.mean({0}), expected, 0.04));  // five standard errors
}

TEST(HardAttention, DrawsAreAFunctionOfSeedStepAndLayer) {
  const auto layer = test::attention_layer("type: hard", test::attention_options(false));
  const auto x = test::attention_tokens(40);
  const auto draws = [&](uint64_t seed, uint64_t step, int64_t layer_shift) {
    auto context = training_context({0, 40}, nullptr);
    context.seed = seed;
    context.step = step;
    context.layer_shift = layer_shift;
    return layer->weights(x, context)[0];
  };
  const auto first = draws(1, 2, 3);
  EXPECT_TRUE(at::equal(first, draws(1, 2, 3)));
  EXPECT_FALSE(at::equal(first, draws(2, 2, 3)));
  EXPECT_FALSE(at::equal(first, draws(1, 3, 3)));
  EXPECT_FALSE(at::equal(first, draws(1, 2, 4)));
}

// A loss that is linear in the outputs has the expectation that soft attention computes, so the
// mean of its estimated gradients is the gradient of soft attention.
TEST(HardAttention, TheEstimatedGradientIsThatOfTheExpectedLoss) {
  const auto options = test::attention_options(/*is_causal=*/false);
  const auto hard = test::attention_layer("type: hard, entropy_weight: 0", options);
  const auto soft = test::attention_layer("type: full", options);
  constexpr int64_t kLength = 4;
  constexpr int64_t kCount = 30000;
  const auto x = test::attention_tokens(kLength);
  const auto weights = at::arange(kLength * test::kAttentionDim).cos().view({kLength, -1});
  const auto parameters = [](Attention& layer) {
    return std::vector<at::Tensor>{layer.named_parameters()["qkv.weight"]};
  };
  const auto expected = torch::autograd::grad(
      {(soft->forward(x, test::context_of({0, kLength})) * weights).sum()}, parameters(*soft))[0];
  AuxiliaryLosses losses;
  const auto context = training_context(equal_offsets(kCount, kLength), &losses);
  const auto y = hard->forward(x.repeat({kCount, 1}), context);
  const auto of_sequences = (y.view({kCount, kLength, -1}) * weights).sum({1, 2});  // (B)
  const auto advantage = of_sequences.detach() - of_sequences.detach().mean();
  ASSERT_TRUE(losses.has_draws());
  auto sum = of_sequences.sum();
  for (const auto& loss : losses.all()) {
    sum = sum + (loss.is_log_probability ? (advantage * loss.sum).sum() : 0 * loss.sum);
  }
  const auto found = torch::autograd::grad({sum / kCount}, parameters(*hard))[0];
  const auto error = [&](const at::Tensor& gradient) {
    return ((gradient - expected).norm() / expected.norm()).item<double>();
  };
  EXPECT_LT(error(found), 0.05);
  // Without the log-probabilities, queries and keys would learn nothing.
  const auto score_rows = expected.slice(0, 0, 2 * test::kAttentionDim);
  EXPECT_GT((score_rows.norm() / expected.norm()).item<double>(), 0.1);
  EXPECT_LT(((found.slice(0, 0, 2 * test::kAttentionDim) - score_rows).norm() / score_rows.norm())
                .item<double>(),
            0.2);
}

TEST(HardAttention, LogProbabilitiesAreThoseOfTheSoftWeights) {
  const auto options = test::attention_options(/*is_causal=*/false);
  const auto hard = test::attention_layer("type: hard, entropy_weight: 0.5", options);
  const auto soft = test::attention_layer("type: full", options);
  const std::vector<int64_t> offsets{0, 3, 4, 10};
  AuxiliaryLosses losses;
  const auto context = training_context(offsets, &losses);
  const auto x = test::attention_tokens(10);
  hard->forward(x, context);
  const auto draws = hard->weights(x, training_context(offsets, nullptr));
  const auto weights = soft->weights(x, test::context_of(offsets));
  auto log_probabilities = at::zeros({3});
  double entropy = 0;
  for (const auto& loss : losses.all()) {
    if (loss.is_log_probability) {
      log_probabilities = log_probabilities + loss.sum;
    } else {
      EXPECT_EQ(loss.name, "attention_entropy");
      EXPECT_EQ(loss.weight, -0.5);
      entropy += loss.sum.item<double>();
    }
  }
  double expected_entropy = 0;
  for (int64_t b = 0; b < 3; ++b) {
    const auto& own = weights[static_cast<std::size_t>(b)];
    EXPECT_NEAR(log_probabilities[b].item<double>(),
                (own.log() * draws[static_cast<std::size_t>(b)]).sum().item<double>(), 1e-4);
    expected_entropy -= (own * own.log()).sum().item<double>() / test::kAttentionHeads;
  }
  EXPECT_NEAR(entropy, expected_entropy, 1e-4);
}

}  // namespace
}  // namespace weft::nn
