#include "nn/stack.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "nn/attention/attention_types.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kStackDim = 8;

BlockOptions block_options_of(NormPlacement place, double dropout = 0.1) {
  return {.attention = {.dim = kStackDim, .heads = 2, .dropout = dropout},
          .feed_forward = {.dim = kStackDim, .width = 12},
          .norm = {.dim = kStackDim, .epsilon = 1e-5},
          .norm_placement = place,
          .dropout = dropout};
}

StackOptions stack_options_of(NormPlacement place, double dropout = 0.1) {
  const auto block = block_options_of(place, dropout);
  StackOptions options{.layers = {block, block}};
  if (place == NormPlacement::kPre) {
    options.norm = block.norm;
  }
  return options;
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
  const auto options = block_options_of(NormPlacement::kPost);
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
  const auto block = make_block(block_options_of(NormPlacement::kPre));
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
      Stack(stack_options_of(NormPlacement::kPost))->named_parameters().contains("norm.weight"));
  EXPECT_TRUE(
      Stack(stack_options_of(NormPlacement::kPre))->named_parameters().contains("norm.weight"));
}

TEST(Stack, LayersMayDiffer) {
  auto options = stack_options_of(NormPlacement::kPre, 0);
  options.layers[0].make_attention = window_attention(1);  // a token attends to itself only
  auto apart_options = options;
  apart_options.layers[1].make_attention = window_attention(1);
  StackImpl apart(apart_options);
  StackImpl mixed(options);
  test::fill_parameters(apart);
  test::fill_parameters(mixed);
  auto edited = stack_input(5);
  edited.select(0, 4).select(0, 0).add_(1.0);
  const auto context = test::context_of({0, 5});
  EXPECT_TRUE(test::near(apart.forward(edited, context).slice(0, 0, 4),
                         apart.forward(stack_input(5), context).slice(0, 0, 4)));
  EXPECT_FALSE(test::near(mixed.forward(edited, context).slice(0, 0, 4),
                          mixed.forward(stack_input(5), context).slice(0, 0, 4)));
}

TEST(Stack, TheFirstNormMayBeMissing) {
  auto options = stack_options_of(NormPlacement::kPre);
  options.layers[0].has_first_norm = false;
  const auto names = Stack(options)->named_parameters();
  EXPECT_FALSE(names.contains("0.attention_norm.weight"));
  EXPECT_TRUE(names.contains("0.feed_forward_norm.weight"));
  EXPECT_TRUE(names.contains("1.attention_norm.weight"));
}

TEST(Block, RunsItsSublayersInTheGivenOrder) {
  for (const auto place : {NormPlacement::kPre, NormPlacement::kPost}) {
    auto options = block_options_of(place, 0);
    options.order = "faf";
    const auto block = make_block(options);
    test::fill_parameters(*block);
    const auto children = block->named_children();
    auto attention = std::dynamic_pointer_cast<Attention>(children["attention"]);
    auto first = std::dynamic_pointer_cast<FeedForward>(children["feed_forward"]);
    auto second = std::dynamic_pointer_cast<FeedForward>(children["feed_forward_2"]);
    const auto context = test::context_of({0, 2, 5});
    auto expected = stack_input(5);
    const auto add = [&](const std::string& name, Sublayer& sublayer) {
      expected = place == NormPlacement::kPre
                     ? expected + sublayer.forward(norm(*block, name + "_norm", expected), context)
                     : norm(*block, name + "_norm", expected + sublayer.forward(expected, context));
    };
    add("feed_forward", *first);
    add("attention", *attention);
    add("feed_forward_2", *second);
    EXPECT_TRUE(test::near(block->forward(stack_input(5), context), expected));
    const auto selection = RowSelection::from_rows({1, 2, 4}, context, 0);
    EXPECT_TRUE(test::near(block->forward_selected(stack_input(5), context, selection),
                           selection.select(expected)));
  }
}

TEST(Block, RepeatedSublayersDropDifferentFeatures) {
  auto options = block_options_of(NormPlacement::kPre, 0.5);
  options.order = "ff";
  const auto block = make_block(options);
  for (auto& item : block->named_parameters()) {  // both sub-layers add the same constant
    item.value().set_data(item.key().ends_with("down.bias") ? at::ones_like(item.value())
                                                            : at::zeros_like(item.value()));
  }
  auto context = test::context_of({0, 5});
  context.is_training = true;
  const auto sum = block->forward(at::zeros({5, kStackDim}), context);
  EXPECT_TRUE((sum == 2).any().item<bool>()) << "kept by one of the two only";
}

TEST(Block, RejectsAnOrderOfUnknownSublayers) {
  auto options = block_options_of(NormPlacement::kPre);
  options.order = "axf";
  EXPECT_THROW(make_block(options), c10::Error);
  EXPECT_TRUE(block_error("axf")->starts_with(
      "has the letter 'x', allowed are a (attention), c (cross attention, of decoders with an "
      "encoder), f (feed-forward), r (recurrent: LSTM, GRU or RNN)"));
  EXPECT_TRUE(block_error(""));
  EXPECT_FALSE(block_error("faf"));
}

/// Adds the input times a constant.
class Scaling : public Sublayer {
 public:
  at::Tensor forward(const at::Tensor& x, const ForwardContext& /*context*/) override {
    return 3 * x;
  }
  bool mixes_tokens() const override { return false; }
};

TEST(Block, RunsARegisteredSublayer) {
  const SublayerDefinition scaling{
      .name = "scaling",
      .letter = 'z',
      .description = "three times the input",
      .make = [](const BlockOptions&) { return std::make_shared<Scaling>(); }};
  if (find_sublayer('z') == nullptr) {  // in an earlier repetition
    register_sublayer(scaling);
  }
  auto options = block_options_of(NormPlacement::kPre, 0.5);
  options.order = "zz";
  const auto block = make_block(options);
  test::fill_parameters(*block);
  const auto x = stack_input(5);
  auto context = test::context_of({0, 2, 5});
  const auto first = x + 3 * norm(*block, "scaling_norm", x);
  const auto expected = first + 3 * norm(*block, "scaling_2_norm", first);
  EXPECT_TRUE(test::near(block->forward(x, context), expected));
  context.is_training = true;
  EXPECT_FALSE(test::near(block->forward(x, context), expected)) << "output dropout";
  EXPECT_THROW(register_sublayer(scaling), std::invalid_argument) << "name and letter are taken";
  auto other = scaling;
  other.name = "other";
  EXPECT_THROW(register_sublayer(other), std::invalid_argument) << "the letter is taken";
  other.letter = '1';
  EXPECT_THROW(register_sublayer(other), std::invalid_argument) << "no letter";
  options.order = "rf";
  EXPECT_THROW(make_block(options), c10::Error) << "without a maker of its section";
}

TEST(Block, TheFeedForwardMayHaveARateOfItsOwn) {
  auto options = block_options_of(NormPlacement::kPre, 0.5);
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
    StackImpl stack(stack_options_of(place, 0.4));
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

TEST(Stack, EveryLayerHasItsOwnDropoutMask) {
  StackImpl stack(stack_options_of(NormPlacement::kPost, 0.5));
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
    StackImpl stack(stack_options_of(place, 0.3));
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
