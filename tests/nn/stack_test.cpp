#include "nn/stack.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kStackDim = 8;

StackOptions stack_options_of(NormPlacement place, double dropout = 0.1) {
  return {.layers = 2,
          .block = {.layer = 0,
                    .attention = {.dim = kStackDim, .heads = 2, .dropout = dropout},
                    .feed_forward = {.dim = kStackDim, .width = 12},
                    .norm = {.dim = kStackDim, .epsilon = 1e-5},
                    .norm_placement = place,
                    .dropout = dropout}};
}

at::Tensor stack_input(int64_t tokens) {
  return at::arange(tokens * kStackDim, at::kFloat).view({tokens, kStackDim}).mul(0.7).sin();
}

at::Tensor norm(const torch::nn::Module& module, const std::string& name, const at::Tensor& x) {
  const auto parameters = module.named_parameters();
  return at::layer_norm(x, {kStackDim}, parameters[name + ".weight"], parameters[name + ".bias"],
                        1e-5);
}

TEST(Block, PostNormIsNormOfTheSum) {
  const auto options = stack_options_of(NormPlacement::kPost).block;
  const auto block = make_block(options);
  test::fill_parameters(*block);
  const auto children = block->named_children();
  auto attention = std::dynamic_pointer_cast<Attention>(children["attention"]);
  auto feed_forward = std::dynamic_pointer_cast<FeedForward>(children["feed_forward"]);
  const auto context = test::context_of({0, 2, 5});
  const auto x = stack_input(5);
  const auto mixed = norm(*block, "attention_norm", x + attention->forward(x, context));
  const auto expected =
      norm(*block, "feed_forward_norm", mixed + feed_forward->forward(mixed, context));
  EXPECT_TRUE(test::near(block->forward(x, context), expected));
}

TEST(Block, PreNormLeavesTheStreamAlone) {
  const auto block = make_block(stack_options_of(NormPlacement::kPre).block);
  test::fill_parameters(*block);
  const auto children = block->named_children();
  auto attention = std::dynamic_pointer_cast<Attention>(children["attention"]);
  auto feed_forward = std::dynamic_pointer_cast<FeedForward>(children["feed_forward"]);
  const auto context = test::context_of({0, 2, 5});
  const auto x = stack_input(5);
  const auto mixed = x + attention->forward(norm(*block, "attention_norm", x), context);
  const auto expected =
      mixed + feed_forward->forward(norm(*block, "feed_forward_norm", mixed), context);
  EXPECT_TRUE(test::near(block->forward(x, context), expected));
}

TEST(Stack, OnlyPreNormEndsInANormOfItsOwn) {
  EXPECT_FALSE(
      Stack(stack_options_of(NormPlacement::kPost)).named_parameters().contains("norm.weight"));
  EXPECT_TRUE(
      Stack(stack_options_of(NormPlacement::kPre)).named_parameters().contains("norm.weight"));
}

TEST(Stack, EachLayerMayHaveItsOwnAttention) {
  auto options = stack_options_of(NormPlacement::kPre, 0);
  const AttentionOptions full{.dim = kStackDim, .heads = 2, .dropout = 0};
  auto narrow = full;
  narrow.type = AttentionType::kWindow;
  narrow.window = 1;  // itself alone
  options.attention = {narrow, narrow};
  Stack apart(options);
  options.attention = {narrow, full};
  Stack mixed(options);
  test::fill_parameters(apart);
  test::fill_parameters(mixed);
  auto edited = stack_input(5);
  edited.select(0, 4).select(0, 0).add_(1.0);
  const auto context = test::context_of({0, 5});
  EXPECT_TRUE(test::near(apart.forward(edited, context).slice(0, 0, 4),
                         apart.forward(stack_input(5), context).slice(0, 0, 4)));
  EXPECT_FALSE(test::near(mixed.forward(edited, context).slice(0, 0, 4),
                          mixed.forward(stack_input(5), context).slice(0, 0, 4)));
  options.attention = {full};
  EXPECT_THROW(Stack{options}, c10::Error);
}

TEST(Stack, TheFirstNormMayBeMissing) {
  auto options = stack_options_of(NormPlacement::kPre);
  options.has_first_norm = false;
  const auto names = Stack(options).named_parameters();
  EXPECT_FALSE(names.contains("0.attention_norm.weight"));
  EXPECT_TRUE(names.contains("0.feed_forward_norm.weight"));
  EXPECT_TRUE(names.contains("1.attention_norm.weight"));
}

TEST(Block, TheFeedForwardMayHaveItsOwnDropout) {
  auto options = stack_options_of(NormPlacement::kPre, 0.5).block;
  options.attention.dropout = 0;
  const auto x = stack_input(5);
  auto context = test::context_of({0, 5});
  const auto result = [&](bool is_training) {
    const auto block = make_block(options);
    test::fill_parameters(*block);
    context.is_training = is_training;
    return block->forward(x, context);
  };
  options.dropout = 0;
  EXPECT_TRUE(test::near(result(true), result(false)));
  options.feed_forward_dropout = 0.5;
  EXPECT_FALSE(test::near(result(true), result(false)));
}

TEST(Stack, MicroBatchesDrawTheDropoutOfTheWholeStep) {
  for (const auto place : {NormPlacement::kPost, NormPlacement::kPre}) {
    Stack stack(stack_options_of(place, 0.4));
    test::fill_parameters(stack);
    const auto x = stack_input(9);
    auto whole = test::context_of({0, 4, 9});
    whole.is_training = true;
    auto first = test::context_of({0, 4});
    first.is_training = true;
    auto second = test::context_of({0, 5});
    second.is_training = true;
    second.first_row = 4;
    second.first_sequence = 1;
    const auto parts =
        at::cat({stack.forward(x.slice(0, 0, 4), first), stack.forward(x.slice(0, 4), second)});
    EXPECT_TRUE(test::near(stack.forward(x, whole), parts));
    second.first_row = 0;
    EXPECT_FALSE(
        test::near(stack.forward(x, whole).slice(0, 4), stack.forward(x.slice(0, 4), second)));
  }
}

TEST(Stack, EveryLayerDrawsItsOwnDropout) {
  Stack stack(stack_options_of(NormPlacement::kPost, 0.5));
  test::fill_parameters(stack);
  auto context = test::context_of({0, 6});
  context.is_training = true;
  const auto x = stack_input(6);
  const auto once = stack.forward(x, context);
  EXPECT_TRUE(test::near(stack.forward(x, context), once, 0));
  context.step = 1;
  EXPECT_FALSE(test::near(stack.forward(x, context), once));
}

// Central differences in single precision: only as fine as that allows.
TEST(Stack, GradientsAreThoseOfDifferences) {
  for (const auto place : {NormPlacement::kPost, NormPlacement::kPre}) {
    Stack stack(stack_options_of(place, 0.3));
    test::fill_parameters(stack);
    auto context = test::context_of({0, 3, 5});
    context.is_training = true;
    const auto x = stack_input(5);
    const auto weights = at::arange(5 * kStackDim, at::kFloat).view({5, kStackDim}).cos();
    (stack.forward(x, context) * weights).sum().backward();
    for (const auto& item : stack.named_parameters()) {
      auto flat = item.value().detach().view(-1);
      const int64_t index = flat.numel() / 2;
      const float kept = flat[index].item<float>();
      const double step = 1e-2;
      const at::NoGradGuard guard;
      flat[index] = kept + step;
      const double above = (stack.forward(x, context) * weights).sum().item<double>();
      flat[index] = kept - step;
      const double below = (stack.forward(x, context) * weights).sum().item<double>();
      flat[index] = kept;
      const double found = item.value().grad().view(-1)[index].item<double>();
      EXPECT_NEAR(found, (above - below) / (2 * step), 2e-2 * std::max(1.0, std::abs(found)))
          << item.key();
    }
  }
}

}  // namespace
}  // namespace weft::nn
