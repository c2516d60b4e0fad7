#include "nn/reversible.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/string_util.h"
#include "nn/attention/attention_recorder.h"
#include "nn/auxiliary_losses.h"
#include "nn/block_hook.h"
#include "nn/decoding_state.h"
#include "nn/stack.h"
#include "support/components.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kStreamDim = 8;

BlockOptions reversible_block(const std::string& order = "af", double dropout = 0.3) {
  return {.order = order,
          .attention = {.dim = kStreamDim, .heads = 2, .dropout = dropout},
          .cross_attention = {.dim = kStreamDim,
                              .heads = 2,
                              .encoder_dim = kStreamDim,
                              .dropout = dropout},
          .feed_forward = {.dim = kStreamDim, .width = 12, .dropout = dropout},
          .norm = {.dim = kStreamDim, .epsilon = 1e-5},
          .norm_placement = NormPlacement::kPre,
          .dropout = dropout};
}

StackOptions reversible_stack(BlockOptions block, std::size_t layers = 3) {
  StackOptions options{.layers = std::vector(layers, std::move(block)),
                       .reversible = StreamMerge::kConcatenate};
  options.norm = NormOptions{.dim = 2 * kStreamDim, .epsilon = 1e-5};
  return options;
}

at::Tensor stream_rows(int64_t count, double phase = 0) {
  return (at::arange(count * kStreamDim, at::kDouble) * 1.7 + phase)
      .sin()
      .view({count, kStreamDim});
}

ForwardContext reversible_context(std::vector<int64_t> offsets) {
  auto context = test::context_of(std::move(offsets));
  context.is_training = true;
  context.seed = 5;
  return context;
}

void to_double(torch::nn::Module& module) {
  for (auto& item : module.named_parameters()) {
    item.value().set_data(item.value().detach().to(at::kDouble));
  }
}

/// y1 = x1 + f(x2), y2 = x2 + g(y1), written down for the norms and sub-layers of a layer.
TEST(Reversible, AddsEachSublayerToTheOtherStream) {
  StackImpl stack(reversible_stack(reversible_block("af", 0), 1));
  test::fill_parameters(stack);
  const auto context = test::context_of({0, 2, 5});
  const auto x = stream_rows(5).to(at::kFloat);
  const auto block = stack.named_children()["0"];
  const auto parameters = block->named_parameters();
  const auto branch = [&](const std::string& name, const at::Tensor& in) {
    const auto normed = at::layer_norm(in, {kStreamDim}, parameters[name + "_norm.weight"],
                                       parameters[name + "_norm.bias"], 1e-5);
    return std::dynamic_pointer_cast<Sublayer>(block->named_children()[name])
        ->forward(normed, context);
  };
  const auto y1 = x + branch("attention", x);
  const auto y2 = x + branch("feed_forward", y1);
  const auto all = stack.named_parameters();
  const auto expected = at::layer_norm(at::cat({y1, y2}, 1), {2 * kStreamDim}, all["norm.weight"],
                                       all["norm.bias"], 1e-5);
  EXPECT_TRUE(test::near(stack.forward(x, context), expected));
  const auto selection = RowSelection::from_rows({1, 4}, context, 0);
  EXPECT_TRUE(
      test::near(stack.forward_selected(x, context, selection), selection.select(expected)));

  auto options = reversible_stack(reversible_block("af", 0), 1);
  options.reversible = StreamMerge::kMean;
  options.norm.reset();
  StackImpl mean(options);
  test::fill_parameters(mean);
  EXPECT_TRUE(test::near(mean.forward(x, context), (y1 + y2) / 2));
}

struct ReversibleCase {
  std::string name;
  StackOptions options;
  bool has_source = false;
  bool selects = false;
};

std::vector<ReversibleCase> reversible_cases() {
  auto biased = reversible_stack(reversible_block());
  biased.positions = {test::component(position_types(), "position", "type: t5").make({.heads = 2})};
  auto dropping = reversible_stack(reversible_block(), 4);
  dropping.stochastic_depth = {.drop_path_rate = 0.4, .layerdrop = 0.4};
  auto shared = reversible_stack(reversible_block(), 4);
  shared.layer_groups = 2;
  auto sandwich = reversible_block();
  sandwich.norm_placement = NormPlacement::kSandwich;
  return {{"plain", reversible_stack(reversible_block())},
          {"selected rows", reversible_stack(reversible_block()), false, true},
          {"three sub-layers and a source", reversible_stack(reversible_block("acf")), true},
          {"biases", biased},
          {"dropped paths and layers", dropping},
          {"shared layers", shared},
          {"sandwich norms", reversible_stack(sandwich)}};
}

/// Gradients of all inputs and parameters. `keeps_activations`: by ordinary autograd.
std::vector<at::Tensor> reversible_gradients(StackImpl& stack,
                                             const ReversibleCase& each,
                                             bool keeps_activations) {
  EncoderStates source{.states = stream_rows(7, 0.4).requires_grad_(),
                       .layout = kernels::Layout::from_offsets({0, 3, 7}, at::kCPU)};
  auto x = stream_rows(6).requires_grad_();
  AttentionRecorder nothing{std::vector<int64_t>{}};
  auto context = reversible_context({0, 4, 6});
  context.encoder_states = each.has_source ? &source : nullptr;
  context.attention_recorder = keeps_activations ? &nothing : nullptr;
  const auto y = each.selects ? stack.forward_selected(
                                    x, context, RowSelection::from_rows({0, 2, 5}, context, 0))
                              : stack.forward(x, context);
  (y * at::arange(y.numel(), at::kDouble).cos().view_as(y)).sum().backward();
  std::vector<at::Tensor> gradients{x.grad()};
  if (each.has_source) {
    gradients.push_back(source.states.grad());
  }
  for (auto& item : stack.named_parameters()) {
    const auto& gradient = item.value().grad();
    gradients.push_back(gradient.defined() ? gradient.clone() : at::zeros({1}));
  }
  test::clear_gradients(stack);
  return gradients;
}

TEST(Reversible, GradientsEqualThoseOfOrdinaryAutograd) {
  for (const auto& each : reversible_cases()) {
    StackImpl stack(each.options);
    test::fill_parameters(stack);
    to_double(stack);
    const auto expected = reversible_gradients(stack, each, true);
    const auto found = reversible_gradients(stack, each, false);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(test::near(found[i], expected[i], 1e-10)) << each.name << " " << i;
    }
    EXPECT_GT(found[0].abs().max().item<double>(), 1e-3) << each.name;
  }
}

TEST(Reversible, InputsAreRecoveredThroughTwelveLayers) {
  StackImpl stack(reversible_stack(reversible_block(), 12));
  test::fill_parameters(stack);
  const auto x = stream_rows(9).to(at::kFloat);
  auto context = reversible_context({0, 5, 9});
  const auto pass = std::make_shared<ReversiblePass>();
  context.reversible_pass = pass;
  auto streams = duplicate_stream(x).requires_grad_();
  auto y = streams;
  for (std::size_t layer = 0; layer < 12; ++layer) {
    y = stack.forward_layer(layer, y, context);
  }
  EXPECT_FALSE(test::near(pass->first, x, 0.5));
  y.sum().backward();
  EXPECT_EQ(pass->layers, 0);
  EXPECT_TRUE(test::near(pass->first, x, 1e-5));
  EXPECT_TRUE(test::near(pass->second, x, 1e-5));
}

TEST(Reversible, ASecondBackwardPassIsRefused) {
  StackImpl stack(reversible_stack(reversible_block()));
  test::fill_parameters(stack);
  const auto loss = stack.forward(stream_rows(4).to(at::kFloat), reversible_context({0, 4})).sum();
  loss.backward({}, /*retain_graph=*/true);
  EXPECT_THROW(loss.backward(), c10::Error);
}

TEST(Reversible, RefusesLayersThatCannotBeInverted) {
  auto post = reversible_block();
  post.norm_placement = NormPlacement::kPost;
  EXPECT_THROW(StackImpl(reversible_stack(post)), c10::Error);
  EXPECT_THROW(StackImpl(reversible_stack(reversible_block("afn"))), c10::Error);
  auto parallel = reversible_block();
  parallel.is_parallel = true;
  EXPECT_THROW(StackImpl(reversible_stack(parallel)), c10::Error);
}

/// y = x W; its auxiliary loss is the sum of y^2.
class SquaredFeedForward : public FeedForward {
 public:
  explicit SquaredFeedForward(const FeedForwardOptions& options) {
    weight_ = register_parameter("weight", at::empty({options.dim, options.dim}));
  }
  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    const auto y = at::matmul(x, weight_);
    if (context.auxiliary_losses != nullptr) {
      context.auxiliary_losses->add({.name = "square", .sum = y.square().sum()});
    }
    return y;
  }

 private:
  at::Tensor weight_;
};

TEST(Reversible, AuxiliaryLossesCountOnceAndHaveGradients) {
  auto block = reversible_block("fcf", 0);
  block.make_feed_forward = [](const FeedForwardOptions& options) {
    return std::make_shared<SquaredFeedForward>(options);
  };
  StackImpl stack(reversible_stack(block));
  test::fill_parameters(stack);
  to_double(stack);
  const auto run = [&](bool keeps_activations) {
    EncoderStates source{.states = stream_rows(3),
                         .layout = kernels::Layout::from_offsets({0, 3}, at::kCPU)};
    AttentionRecorder nothing{std::vector<int64_t>{}};
    AuxiliaryLosses losses;
    auto context = reversible_context({0, 5});
    context.encoder_states = &source;
    context.auxiliary_losses = &losses;
    context.attention_recorder = keeps_activations ? &nothing : nullptr;
    auto loss = stack.forward(stream_rows(5), context).square().sum();
    EXPECT_EQ(losses.all().size(), 6U);
    for (std::size_t i = 0; i < losses.all().size(); ++i) {
      loss = loss + static_cast<double>(i + 1) * losses.all()[i].sum;
    }
    loss.backward();
    EXPECT_EQ(losses.all().size(), 6U);
    std::vector<at::Tensor> result{loss.detach()};
    for (auto& item : stack.named_parameters()) {
      result.push_back(item.value().grad().clone());
    }
    test::clear_gradients(stack);
    return result;
  };
  const auto expected = run(true);
  const auto found = run(false);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(test::near(found[i], expected[i], 1e-9)) << i;
  }
}

/// Streams of bf16 models are fp32: twelve layers add no error to that of bf16 itself.
TEST(Reversible, Bf16GradientsAreNearThoseOfOrdinaryAutograd) {
  StackImpl stack(reversible_stack(reversible_block("af", 0.1), 12));
  test::fill_parameters(stack, 0.2);
  for (auto& item : stack.named_parameters()) {
    item.value().set_data(item.value().detach().to(at::kBFloat16));
  }
  const auto run = [&](bool keeps_activations) {
    AttentionRecorder nothing{std::vector<int64_t>{}};
    auto context = reversible_context({0, 4, 9});
    context.attention_recorder = keeps_activations ? &nothing : nullptr;
    const auto y = stack.forward(stream_rows(9).to(at::kBFloat16), context);
    EXPECT_EQ(y.scalar_type(), at::kBFloat16);
    y.square().sum().backward();
    std::vector<at::Tensor> gradients;
    for (auto& item : stack.named_parameters()) {
      gradients.push_back(item.value().grad().to(at::kFloat));
    }
    test::clear_gradients(stack);
    return at::cat([&] {
      std::vector<at::Tensor> flat;
      for (const auto& gradient : gradients) {
        flat.push_back(gradient.flatten());
      }
      return flat;
    }());
  };
  const auto expected = run(true);
  const auto found = run(false);
  EXPECT_LT((found - expected).norm().item<double>(), 2e-2 * expected.norm().item<double>());
}

TEST(Reversible, DecodingEqualsTheWholePass) {
  auto block = reversible_block("af", 0);
  block.attention.is_causal = true;
  StackImpl stack(reversible_stack(block));
  test::fill_parameters(stack);
  const at::NoGradGuard no_grad;
  const auto x = stream_rows(9).to(at::kFloat);
  const auto expected = stack.forward(x, test::context_of({0, 9}));
  DecodingState state(1);
  ForwardContext context;
  context.decoding_state = &state;
  for (const auto& [begin, count] : {std::pair{0, 4}, {4, 1}, {5, 1}, {6, 3}}) {
    context.layout = state.begin_step({count}, at::kCPU);
    EXPECT_TRUE(test::near(stack.forward(x.narrow(0, begin, count), context),
                           expected.narrow(0, begin, count)))
        << begin;
  }
}

/// `f0 F0`: block 0 runs, `b0 B0`: backwards.
class ReversibleHook : public BlockHook {
 public:
  explicit ReversibleHook(const StackImpl& stack) : stack_(stack) {}
  const std::string& events() const { return events_; }

 private:
  void before_forward(const Block& block) override { add("f", block); }
  void after_forward(const Block& block) override { add("F", block); }
  void before_backward(const Block& block) override { add("b", block); }
  void after_backward(const Block& block) override { add("B", block); }
  void add(const std::string& event, const Block& block) {
    for (const auto& item : stack_.named_children()) {
      if (item.value().get() == &block) {
        events_ += str_cat(event, item.key(), " ");
      }
    }
  }

  const StackImpl& stack_;
  std::string events_;
};

TEST(Reversible, BlockHooksSeeForwardAndBackwardPasses) {
  StackImpl stack(reversible_stack(reversible_block(), 2));
  test::fill_parameters(stack);
  ReversibleHook hook(stack);
  const auto x = stream_rows(4).to(at::kFloat).requires_grad_();
  const auto y = stack.forward(x * 1, reversible_context({0, 4}));
  EXPECT_EQ(hook.events(), "f0 F0 f1 F1 ");
  y.sum().backward();
  EXPECT_EQ(hook.events(), "f0 F0 f1 F1 b1 B1 b0 B0 ");
}

}  // namespace
}  // namespace weft::nn
