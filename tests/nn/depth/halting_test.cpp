#include "nn/depth/halting.h"

#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/auxiliary_losses.h"
#include "nn/decoding_state.h"
#include "nn/stack.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kHaltingDim = 8;

double loss_of(const AuxiliaryLosses& losses, const std::string& name) {
  for (const auto& loss : losses.all()) {
    if (loss.name == name) {
      return loss.sum.item<double>();
    }
  }
  return -1;
}

/// A unit that always halts with this probability.
Halting constant_halting(double probability, double epsilon = 0.01) {
  Halting halting(2, HaltingOptions{.epsilon = epsilon});
  const at::NoGradGuard guard;
  halting->named_parameters()["weight"].zero_();
  halting->named_parameters()["bias"].fill_(std::log(probability / (1 - probability)));
  return halting;
}

/// State t after layer t, from 1.
at::Tensor count_layers(std::size_t layer, const at::Tensor& states, const RowSelection* rows) {
  const auto count = rows == nullptr ? states.size(0) : rows->index.size(0);
  return at::full({count, 2}, static_cast<double>(layer + 1));
}

/// arXiv:1603.08983, equations 5 to 9: steps 1, 2 and 3 with the weights 0.4, 0.4 and 0.2.
TEST(Halting, WeightsTheStatesByTheirProbabilities) {
  auto context = test::context_of({0, 1, 3});
  AuxiliaryLosses losses;
  context.auxiliary_losses = &losses;
  const auto result =
      constant_halting(0.4)->forward(at::zeros({3, 2}), context, {.layers = 12}, count_layers);
  EXPECT_TRUE(test::near(result, at::full({3, 2}, 1.8), 1e-6));
  EXPECT_NEAR(loss_of(losses, "ponder"), 3 * 3.2, 1e-5);
  EXPECT_EQ(loss_of(losses, "halting_steps"), 9);
}

TEST(Halting, ALargeEpsilonHaltsSooner) {
  const auto context = test::context_of({0, 1});
  const auto result = constant_halting(0.4, 0.25)->forward(at::zeros({1, 2}), context,
                                                           {.layers = 12}, count_layers);
  EXPECT_TRUE(test::near(result, at::full({1, 2}, 0.4 * 1 + 0.6 * 2), 1e-6));
}

/// The remainder goes to the last state.
TEST(Halting, EndsAtTheLastLayer) {
  const auto context = test::context_of({0, 1});
  const auto result =
      constant_halting(0.1)->forward(at::zeros({1, 2}), context, {.layers = 3}, count_layers);
  EXPECT_TRUE(test::near(result, at::full({1, 2}, 0.1 * 1 + 0.1 * 2 + 0.8 * 3), 1e-6));
}

StackOptions halting_stack(const HaltingOptions& halting,
                           double dropout = 0,
                           bool is_causal = false) {
  const BlockOptions block{
      .attention = {.dim = kHaltingDim, .heads = 2, .is_causal = is_causal, .dropout = dropout},
      .feed_forward = {.dim = kHaltingDim, .width = 12},
      .norm = {.dim = kHaltingDim, .epsilon = 1e-5},
      .norm_placement = NormPlacement::kPre,
      .dropout = dropout};
  return {
      .layers = std::vector(5, block), .layer_groups = 1, .halting = halting, .norm = block.norm};
}

at::Tensor halting_input(int64_t tokens) {
  return (at::arange(tokens * kHaltingDim, at::kDouble) * 1.7)
      .sin()
      .view({tokens, kHaltingDim})
      .to(at::kFloat);
}

/// Fills all parameters; the bias decides how soon tokens halt.
void fill_halting(StackImpl& stack, double bias, double slope = 1) {
  test::fill_parameters(stack);
  const at::NoGradGuard guard;
  stack.named_parameters()["halting.bias"].fill_(bias);
  stack.named_parameters()["halting.weight"].mul_(slope);
}

TEST(Halting, AHighBiasNeedsOneLayerAndALowOneAllOfThem) {
  const auto x = halting_input(7);
  const auto context = test::context_of({0, 2, 7});
  for (const auto& [bias, layers] : {std::pair{20.0, 1}, std::pair{-20.0, 5}}) {
    StackImpl stack(halting_stack({}));
    fill_halting(stack, bias, 0);
    auto plain = halting_stack({});
    plain.halting.reset();
    plain.layers.resize(static_cast<std::size_t>(layers));
    StackImpl expected(plain);
    const at::NoGradGuard guard;
    for (auto& item : expected.named_parameters()) {
      item.value().copy_(stack.named_parameters()[item.key()]);
    }
    EXPECT_TRUE(test::near(stack.forward(x, context), expected.forward(x, context), 1e-5)) << bias;
  }
}

/// Skipping the tokens that have halted changes nothing, not even gradients.
TEST(Halting, SkipsTokensThatHaveHalted) {
  const auto x = halting_input(11);
  auto context = test::context_of({0, 4, 5, 11});
  for (const auto unit : {HaltingUnit::kToken, HaltingUnit::kSequence}) {
    auto options = halting_stack({.unit = unit});
    const auto block = make_block(options.layers.front());
    test::fill_parameters(*block);
    Halting halting(kHaltingDim, *options.halting);
    test::fill_parameters(*halting);
    const at::Tensor bias = halting->named_parameters()["bias"];
    bias.detach().fill_(-0.7);
    halting->named_parameters()["weight"].detach().mul_(3);
    int64_t computed = 0;
    const auto run = [&](bool skips) {
      AuxiliaryLosses losses;
      context.auxiliary_losses = &losses;
      computed = 0;
      const auto in = x.clone().requires_grad_();
      const auto out = halting->forward(
          in, context, {.layers = 5, .skips_tokens = skips, .skips_layers = skips},
          [&](std::size_t /*layer*/, const at::Tensor& states, const RowSelection* rows) {
            computed += rows == nullptr ? states.size(0) : rows->index.size(0);
            return rows == nullptr ? block->forward(states, context)
                                   : block->forward_selected(states, context, *rows);
          });
      block->zero_grad();
      halting->zero_grad();
      ((out * x.cos()).sum() + losses.all().front().sum).backward();
      std::vector<at::Tensor> results{out.detach(), in.grad(), bias.grad().clone(),
                                      losses.all().front().sum.detach()};
      for (const auto& parameter : block->parameters()) {
        results.push_back(parameter.grad().clone());
      }
      EXPECT_EQ(skips ? computed : 55, skips ? loss_of(losses, "halting_steps") : computed);
      return results;
    };
    const auto all = run(false);
    const auto skipped = run(true);
    EXPECT_GT(computed, 11);
    EXPECT_LT(computed, 55);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(test::near(all[i], skipped[i], 1e-5)) << i;
    }
    EXPECT_LT(all[2].item<double>(), 0) << "a higher bias ponders less";
  }
}

TEST(Halting, ASequenceDoesNotDependOnTheOthers) {
  const auto x = halting_input(9);
  for (const auto unit : {HaltingUnit::kToken, HaltingUnit::kSequence}) {
    StackImpl stack(halting_stack({.unit = unit}));
    fill_halting(stack, -0.7, 3);
    const auto together = stack.forward(x, test::context_of({0, 3, 4, 9}));
    EXPECT_TRUE(test::near(stack.forward(x.slice(0, 4), test::context_of({0, 5})),
                           together.slice(0, 4), 1e-5));
  }
}

TEST(Halting, MicroBatchesEqualTheWholeStep) {
  const auto x = halting_input(9);
  for (const double dropout : {0.0, 0.3}) {
    StackImpl stack(halting_stack({}, dropout));
    fill_halting(stack, -0.7, 3);
    const auto context = [&](std::vector<int64_t> offsets) {
      auto made = test::context_of(std::move(offsets));
      made.is_training = true;
      return made;
    };
    auto second = context({0, 5});
    second.first_row = 4;
    second.first_sequence = 1;
    second.earlier_lengths = {4};
    const auto parts = at::cat(
        {stack.forward(x.slice(0, 0, 4), context({0, 4})), stack.forward(x.slice(0, 4), second)});
    EXPECT_TRUE(test::near(stack.forward(x, context({0, 4, 9})), parts, 1e-6)) << dropout;
  }
}

/// Token by token with a KV cache: halted tokens leave their keys in every layer.
TEST(Halting, DecodesAsInOnePass) {
  auto options = halting_stack({}, 0, true);
  options.step_embedding = StepEmbeddingType::kSinusoidal;
  StackImpl stack(options);
  fill_halting(stack, -0.7, 3);
  const at::NoGradGuard guard;
  const auto x = halting_input(7);
  const auto whole = stack.forward(x, test::context_of({0, 7}));
  DecodingState state(1);
  auto context = test::context_of({0, 0});
  context.decoding_state = &state;
  for (int64_t i = 0; i < 7; ++i) {
    context.layout = state.begin_step({1}, at::kCPU);
    EXPECT_TRUE(test::near(stack.forward(x.narrow(0, i, 1), context), whole.narrow(0, i, 1), 1e-5))
        << i;
  }
}

TEST(StepEmbedding, TellsEqualLayersApart) {
  const auto x = at::zeros({3, 4});
  const auto context = test::context_of({0, 1, 3});
  StepEmbedding sinusoidal(StepEmbeddingType::kSinusoidal, 2, 4);
  // arXiv:1807.03819, equations 6 and 7, at position 1 and step 2.
  const auto second = sinusoidal->forward(x, 1, context);
  EXPECT_NEAR(second[2][0].item<double>(), std::sin(1.0) + std::sin(2.0), 1e-6);
  EXPECT_NEAR(second[2][1].item<double>(), std::cos(1.0) + std::cos(2.0), 1e-6);
  EXPECT_NEAR(second[2][2].item<double>(), std::sin(0.01) + std::sin(0.02), 1e-6);
  EXPECT_TRUE(second[0].equal(second[1])) << "both at position 0";
  StepEmbedding learned(StepEmbeddingType::kLearned, 2, 4);
  test::fill_parameters(*learned);
  EXPECT_TRUE(learned->forward(x, 1, context)
                  .equal(learned->named_parameters()["table"][1].expand({3, 4})));
}

}  // namespace
}  // namespace weft::nn
