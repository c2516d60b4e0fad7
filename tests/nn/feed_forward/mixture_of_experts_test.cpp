#include "nn/feed_forward/mixture_of_experts.h"

#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/auxiliary_losses.h"
#include "support/components.h"
#include "support/config.h"
#include "support/context.h"
#include "support/gradients.h"
#include "support/tensors.h"

/// The mixture of experts and the feed-forward type `maxout`.
namespace weft::nn {
namespace {

constexpr int64_t kMixtureDim = 8;

std::shared_ptr<FeedForward> feed_forward_of(const std::string& keys) {
  auto layer = test::component(feed_forward_types(), "feed_forward", keys)
                   .make({.dim = kMixtureDim, .width = 12});
  test::fill_parameters(*layer);
  return layer;
}

std::shared_ptr<FeedForward> mixture_of(const std::string& keys) {
  return feed_forward_of("type: mixture_of_experts, " + keys);
}

at::Tensor mixture_input(int64_t count) {
  return (at::arange(count * kMixtureDim, at::kDouble) * 1.7)
      .sin()
      .view({count, kMixtureDim})
      .to(at::kFloat);
}

/// Gives all experts the parameters of one layer.
void set_equal_experts(torch::nn::Module& mixture, const torch::nn::Module& expert) {
  const at::NoGradGuard guard;
  for (auto& item : mixture.named_parameters()) {
    if (item.key().starts_with("expert_")) {
      const auto name = item.key().substr(item.key().find('.') + 1);
      item.value().copy_(expert.named_parameters()[name]);
    }
  }
}

at::Tensor router_probabilities(const torch::nn::Module& mixture, const at::Tensor& x) {
  return at::linear(x, mixture.named_parameters()["router.weight"]).softmax(1);
}

TEST(MixtureOfExperts, EqualExpertsAreOneFeedForward) {
  const auto x = mixture_input(9);
  const auto dense = feed_forward_of("type: standard");
  const auto context = test::context_of({0, 2, 9});
  const auto expected = dense->forward(x, context);
  for (const std::string keys :
       {"experts: 1, top: 1", "experts: 4, top: 1", "experts: 4", "experts: 3, top: 3"}) {
    const auto mixture = mixture_of(keys);
    set_equal_experts(*mixture, *dense);
    EXPECT_TRUE(test::near(mixture->forward(x, context), expected)) << keys;
  }
  const auto scaled = mixture_of("experts: 4, top: 1, normalize: false");
  set_equal_experts(*scaled, *dense);
  const auto weight = std::get<0>(router_probabilities(*scaled, x).max(1, true));
  EXPECT_TRUE(test::near(scaled->forward(x, context), weight * expected));
}

/// The weighted sum over all experts, with weights (N, E).
at::Tensor weighted_experts(const torch::nn::Module& mixture,
                            const at::Tensor& weights,
                            const at::Tensor& x) {
  auto sum = at::zeros_like(x);
  for (int64_t e = 0; e < weights.size(1); ++e) {
    const auto expert = feed_forward_of("type: standard");
    const auto own = mixture.named_children()["expert_" + std::to_string(e)]->named_parameters();
    {
      const at::NoGradGuard guard;
      for (auto& item : expert->named_parameters()) {
        item.value().copy_(own[item.key()]);
      }
    }
    sum = sum + weights.slice(1, e, e + 1) * expert->forward(x, {});
  }
  return sum;
}

TEST(MixtureOfExperts, IsTheWeightedSumOfTheBestExperts) {
  const auto x = mixture_input(9);
  const auto context = test::context_of({0, 2, 9});
  const auto all = mixture_of("experts: 5, top: 5, normalize: false");
  EXPECT_TRUE(test::near(all->forward(x, context),
                         weighted_experts(*all, router_probabilities(*all, x), x)));
  const auto two = mixture_of("experts: 5");
  const auto probabilities = router_probabilities(*two, x);
  const auto [best, chosen] = probabilities.topk(2, 1);
  const auto weights = at::zeros_like(probabilities).scatter(1, chosen, best / best.sum(1, true));
  EXPECT_TRUE(test::near(two->forward(x, context), weighted_experts(*two, weights, x)));
}

TEST(MixtureOfExperts, ATokenDoesNotDependOnTheOthers) {
  const auto layer = mixture_of("experts: 4");
  const auto x = mixture_input(12);
  const auto together = layer->forward(x, test::context_of({0, 5, 5, 12}));
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_TRUE(test::near(layer->forward(x.slice(0, i, i + 1), test::context_of({0, 1})),
                           together.slice(0, i, i + 1)));
  }
  EXPECT_EQ(layer->forward(x.slice(0, 0, 0), test::context_of({0})).size(0), 0);
}

TEST(MixtureOfExperts, GradientsAreThoseOfDifferences) {
  const auto layer = mixture_of("experts: 3, top: 2, balance_loss: 0.3, z_loss: 0.2");
  layer->to(at::kDouble);
  auto context = test::context_of({0, 3, 7});
  const auto value_of = [&](const at::Tensor& x) {
    AuxiliaryLosses losses;
    context.auxiliary_losses = &losses;
    auto total = layer->forward(x, context).square().sum();
    for (const auto& each : losses.all()) {
      total = total + each.weight * each.sum;
    }
    return total;
  };
  const auto x = mixture_input(7).to(at::kDouble).requires_grad_();
  auto leaves = layer->parameters();
  leaves.insert(leaves.begin(), x);
  test::expect_gradients_of_differences([&] { return value_of(x); }, leaves, 5, 1e-5);
}

std::vector<AuxiliaryLoss> losses_of(FeedForward& layer,
                                     const at::Tensor& x,
                                     ForwardContext context) {
  AuxiliaryLosses losses;
  context.auxiliary_losses = &losses;
  layer.forward(x, context);
  return losses.all();
}

TEST(MixtureOfExperts, TheBalanceLossOfAUniformRouterIsOne) {
  const auto layer = mixture_of("experts: 4, z_loss: 0.5");
  {
    const at::NoGradGuard guard;
    layer->named_parameters()["router.weight"].zero_();
  }
  const auto losses = losses_of(*layer, mixture_input(9), test::context_of({0, 2, 9}));
  ASSERT_EQ(losses.size(), 2U + 4U);
  EXPECT_EQ(losses[0].name, "load_balancing");
  EXPECT_NEAR(losses[0].sum.item<double>(), 2, 1e-6) << "1 for each sequence";
  EXPECT_EQ(losses[1].name, "router_z");
  EXPECT_NEAR(losses[1].sum.item<double>(), 9 * std::log(4) * std::log(4), 1e-4);
  double shares = 0;
  for (std::size_t i = 2; i < losses.size(); ++i) {
    EXPECT_EQ(losses[i].weight, 0);
    shares += losses[i].sum.item<double>();
  }
  EXPECT_NEAR(shares, 9, 1e-6);
}

TEST(MixtureOfExperts, TheBalanceLossIsThatOfTheFormula) {
  const auto layer = mixture_of("experts: 4");
  const auto x = mixture_input(9);
  const auto probabilities = router_probabilities(*layer, x);
  const auto chosen = std::get<1>(probabilities.topk(2, 1));
  double expected = 0;
  for (const auto& [begin, end] : {std::pair{0, 2}, std::pair{2, 9}}) {
    const auto f =
        at::bincount(chosen.slice(0, begin, end).flatten(), {}, 4) / (2.0 * (end - begin));
    expected += 4 * (f * probabilities.slice(0, begin, end).mean(0)).sum().item<double>();
  }
  EXPECT_NEAR(losses_of(*layer, x, test::context_of({0, 2, 9}))[0].sum.item<double>(), expected,
              1e-5);
  // Halves of the batch have the same sum.
  const auto first = losses_of(*layer, x.slice(0, 0, 2), test::context_of({0, 2}))[0];
  const auto second = losses_of(*layer, x.slice(0, 2), test::context_of({0, 7}))[0];
  EXPECT_NEAR((first.sum + second.sum).item<double>(), expected, 1e-5);
}

TEST(MixtureOfExperts, ACapacityDropsTheLastChoicesInTraining) {
  // One token of each sequence: 0.5 * 1 * 4 / 2, and 0.5 * 1 * 6 / 2 = 1.5.
  const auto layer = mixture_of("experts: 2, top: 1, capacity: 0.5");
  {
    const at::NoGradGuard guard;
    auto router = layer->named_parameters()["router.weight"];
    router.zero_();
    router.select(0, 1).fill_(1);
  }
  const auto x = mixture_input(10).abs() + 0.1;  // all tokens prefer expert 1
  auto context = test::context_of({0, 4, 10});
  const auto all = layer->forward(x, context);
  context.is_training = true;
  const auto kept = layer->forward(x, context);
  for (int64_t i = 0; i < 10; ++i) {
    const bool is_kept = i == 0 || i == 4;
    EXPECT_TRUE(test::near(kept[i], is_kept ? all[i] : at::zeros({kMixtureDim}))) << i;
    EXPECT_GT(all[i].abs().sum().item<double>(), 0.1);
  }
  const auto ample = mixture_of("experts: 2, top: 1, capacity: 2");
  const auto dropless = mixture_of("experts: 2, top: 1");
  EXPECT_TRUE(test::near(ample->forward(x, context), dropless->forward(x, context), 0));
}

TEST(MixtureOfExperts, FirstChoicesAreServedBeforeSecondOnes) {
  // Capacity 2 of each expert in a sequence of 2 tokens with 2 choices each would serve all; of 1,
  // each expert serves the first choice of a token, if the tokens differ in it.
  const auto layer = mixture_of("experts: 2, top: 2, capacity: 0.5, normalize: false");
  auto x = mixture_input(2);
  const auto probabilities = router_probabilities(*layer, x);
  {
    const at::NoGradGuard guard;
    layer->named_parameters()["router.weight"].copy_(
        at::stack({x[0] - x[1], x[1] - x[0]}));  // token i prefers expert i
  }
  auto context = test::context_of({0, 2});
  context.is_training = true;
  const auto first = std::get<0>(router_probabilities(*layer, x).max(1, true));
  const auto weights = at::eye(2) * first;
  EXPECT_TRUE(test::near(layer->forward(x, context), weighted_experts(*layer, weights, x)));
}

TEST(MixtureOfExperts, JittersTheInputOfTheRouterInTraining) {
  const auto layer = mixture_of("experts: 4, top: 4, jitter: 0.5");
  const auto x = mixture_input(5);
  auto context = test::context_of({0, 5});
  const auto still = layer->forward(x, context);
  context.is_training = true;
  const auto moved = layer->forward(x, context);
  EXPECT_FALSE(test::near(moved, still));
  EXPECT_TRUE(test::near(layer->forward(x, context), moved, 0)) << "a function of seed and step";
  auto half = test::context_of({0, 2});
  half.is_training = true;
  half.first_row = 3;
  EXPECT_TRUE(test::near(layer->forward(x.slice(0, 3), half), moved.slice(0, 3)))
      << "of the row in the step";
}

TEST(MixtureOfExperts, RefusesWhatIsNotPossible) {
  const auto message = test::message_of<config::Error>([] { mixture_of("experts: 2, top: 3"); });
  EXPECT_NE(message.find("feed_forward.top: found 3, allowed are 1 to the 2 experts"),
            std::string::npos)
      << message;
}

TEST(MixtureOfExperts, DropsTheActivationsOfAChoiceWhereverItIs) {
  const auto layer = make_mixture_of_experts({.dim = kMixtureDim, .width = 12, .dropout = 0.5},
                                             {.experts = 3, .top = 2});
  test::fill_parameters(*layer);
  const auto x = mixture_input(6);
  auto context = test::context_of({0, 6});
  const auto still = layer->forward(x, context);
  context.is_training = true;
  const auto dropped = layer->forward(x, context);
  EXPECT_FALSE(test::near(dropped, still));
  auto half = test::context_of({0, 3});
  half.is_training = true;
  half.first_row = 3;
  EXPECT_TRUE(test::near(layer->forward(x.slice(0, 3), half), dropped.slice(0, 3)))
      << "the second micro-batch of a step";
}

TEST(MixtureOfExperts, AnExpertCapacityAlsoHoldsOutsideTraining) {
  const auto layer = mixture_of("experts: 1, top: 1, expert_capacity: 2");
  const auto all = mixture_of("experts: 1, top: 1");
  const auto x = mixture_input(7);
  const auto context = test::context_of({0, 3, 7});
  const auto kept = layer->forward(x, context);
  const auto expected = all->forward(x, context);
  for (int64_t i = 0; i < 7; ++i) {
    const bool is_kept = i != 2 && i < 5;
    EXPECT_TRUE(test::near(kept[i], is_kept ? expected[i] : at::zeros({kMixtureDim}))) << i;
  }
}

TEST(Maxout, IsTheLargestOfItsPieces) {
  const auto layer =
      test::component(feed_forward_types(), "feed_forward", "type: maxout, pieces: 2")
          .make({.dim = 2, .width = 2});
  // Pieces: (x_0, x_1) and (x_1, 1 - x_0).
  test::set_parameters(
      *layer,
      {{"up.weight", at::tensor({1.0F, 0.0F, 0.0F, 1.0F, 0.0F, 1.0F, -1.0F, 0.0F}).view({4, 2})},
       {"up.bias", at::tensor({0.0F, 0.0F, 0.0F, 1.0F})},
       {"down.weight", at::eye(2)},
       {"down.bias", at::tensor({0.5F, 0.0F})}});
  const auto y = layer->forward(at::tensor({2.0F, -3.0F, 0.0F, 4.0F}).view({2, 2}), {});
  EXPECT_TRUE(test::near(y, at::tensor({2.5F, -1.0F, 4.5F, 4.0F}).view({2, 2})));
}

}  // namespace
}  // namespace weft::nn
