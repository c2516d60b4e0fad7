#include "nn/feed_forward/feed_forward.h"

#include <gtest/gtest.h>

#include "support/tensors.h"

namespace weft::nn {
namespace {

TEST(FeedForward, MatchesHandComputedRelu) {
  const auto layer =
      make_standard_feed_forward({.dim = 2, .width = 2, .activation = kernels::Activation::kRelu});
  test::set_parameters(*layer, {{"up.weight", at::eye(2)},
                                {"up.bias", at::zeros({2})},
                                {"down.weight", at::tensor({1.0F, 1.0F, 2.0F, 0.0F}).view({2, 2})},
                                {"down.bias", at::tensor({0.5F, 0.0F})}});
  const auto y = layer->forward(at::tensor({1.0F, -3.0F}).view({1, 2}), {});  // relu gives [1, 0]
  EXPECT_TRUE(test::near(y, at::tensor({1.5F, 2.0F}).view({1, 2})));
}

TEST(GatedFeedForward, MultipliesTheActivatedHalfByTheOther) {
  const auto layer = make_standard_feed_forward({.dim = 2,
                                                 .width = 2,
                                                 .activation = kernels::Activation::kRelu,
                                                 .is_gated = true,
                                                 .has_bias = false});
  ASSERT_EQ(layer->named_parameters().size(), 2);
  // Activated: x and -x_1; gates: x_1 and x_0 + x_1.
  test::set_parameters(
      *layer,
      {{"up.weight", at::tensor({1.0F, 0.0F, 0.0F, -1.0F, 0.0F, 1.0F, 1.0F, 1.0F}).view({4, 2})},
       {"down.weight", at::tensor({1.0F, 1.0F, 2.0F, 0.0F}).view({2, 2})}});
  // x = (2, -3): relu(2, 3) * (-3, -1) = (-6, -3).
  const auto y = layer->forward(at::tensor({2.0F, -3.0F}).view({1, 2}), {});
  EXPECT_TRUE(test::near(y, at::tensor({-9.0F, -12.0F}).view({1, 2})));
}

TEST(GatedFeedForward, DropsItsActivationsInTraining) {
  const auto layer = make_standard_feed_forward(
      {.dim = 8, .width = 16, .is_gated = true, .has_bias = false, .dropout = 0.5});
  test::fill_parameters(*layer);
  const auto x = at::arange(40, at::kFloat).view({5, 8}).sin();
  ForwardContext context;
  const auto still = layer->forward(x, context);
  context.is_training = true;
  EXPECT_FALSE(test::near(layer->forward(x, context), still));
}

TEST(FeedForward, MixesNothingAcrossTokens) {
  const auto layer = make_standard_feed_forward({.dim = 8, .width = 16});
  test::fill_parameters(*layer);
  const auto x = at::arange(40, at::kFloat).view({5, 8}) / 20;
  auto edited = x.clone();
  edited.select(0, 4).add_(1.0);
  EXPECT_TRUE(test::near(layer->forward(edited, {}).slice(0, 0, 4),
                         layer->forward(x, {}).slice(0, 0, 4), 0));
  EXPECT_FALSE(
      test::near(layer->forward(edited, {}).select(0, 4), layer->forward(x, {}).select(0, 4)));
}

}  // namespace
}  // namespace weft::nn
