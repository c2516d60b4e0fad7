#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/attention/attention_types.h"
#include "nn/decoding_state.h"
#include "nn/norm/norm.h"
#include "nn/position/position_types.h"
#include "nn/stack.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kDecoderStackDim = 8;

at::Tensor decoder_stack_rows(int64_t count, double step = 0.7) {
  return at::arange(count * kDecoderStackDim, at::kFloat)
      .view({count, kDecoderStackDim})
      .mul(step)
      .sin();
}

/// All options combined: grouped heads with a custom head size, windows, rotary positions, a bias
/// by distance, and states of an encoder.
StackOptions decoder_stack_options_of(bool has_cross_attention,
                                      NormPlacement place = NormPlacement::kPre) {
  const AttentionOptions attention{.dim = kDecoderStackDim,
                                   .heads = 4,
                                   .is_causal = true,
                                   .rotary = {.theta = 50},
                                   .key_heads = 2,
                                   .head_dim = 6,
                                   .has_output_bias = false};
  const BlockOptions block{
      .order = has_cross_attention ? "acf" : "af",
      .attention = attention,
      .make_attention = window_attention(4),
      .cross_attention = {.dim = kDecoderStackDim, .heads = 2, .head_dim = 3, .encoder_dim = 5},
      .feed_forward = {.dim = kDecoderStackDim, .width = 12, .is_gated = true},
      .norm = {.dim = kDecoderStackDim, .epsilon = 1e-6, .make = make_rms_norm},
      .norm_placement = place};
  StackOptions options{.layers = {block, block}};
  if (place == NormPlacement::kPre) {
    options.norm = block.norm;
  }
  options.positions = {
      t5_bias({.buckets = 8, .max_distance = 16})({.heads = 4, .is_causal = true})};
  return options;
}

EncoderStates encoder_states_of(std::vector<int64_t> offsets) {
  EncoderStates encoder_states;
  encoder_states.layout = kernels::Layout::from_offsets(std::move(offsets), at::kCPU);
  encoder_states.states =
      at::arange(encoder_states.layout.tokens() * 5, at::kFloat).view({-1, 5}).mul(0.3).cos();
  return encoder_states;
}

TEST(DecoderStack, SeesWhatCameBeforeAlone) {
  StackImpl stack(decoder_stack_options_of(false));
  test::fill_parameters(stack);
  const auto x = decoder_stack_rows(9);
  auto edited = x.clone();
  edited.select(0, 4).add_(1.0);
  const auto before = stack.forward(x, test::context_of({0, 7, 9}));
  const auto after = stack.forward(edited, test::context_of({0, 7, 9}));
  EXPECT_TRUE(at::equal(before.slice(0, 0, 4), after.slice(0, 0, 4)));
  EXPECT_TRUE(at::equal(before.slice(0, 7), after.slice(0, 7)));
  EXPECT_FALSE(test::near(before[5], after[5]));
}

TEST(DecoderStack, EachSequenceReadsItsOwnSource) {
  for (const auto place : {NormPlacement::kPre, NormPlacement::kPost}) {
    StackImpl stack(decoder_stack_options_of(true, place));
    test::fill_parameters(stack);
    auto encoder_states = encoder_states_of({0, 3, 10});
    auto context = test::context_of({0, 4, 6});
    context.encoder_states = &encoder_states;
    const auto before = stack.forward(decoder_stack_rows(6), context);
    encoder_states.states = encoder_states.states.clone();
    encoder_states.states.select(0, 8).add_(1.0);  // of the second
    const auto after = stack.forward(decoder_stack_rows(6), context);
    EXPECT_TRUE(at::equal(before.slice(0, 0, 4), after.slice(0, 0, 4)));
    EXPECT_FALSE(test::near(before[4], after[4]));
  }
}

TEST(DecoderStack, WithoutASourceCrossAttentionThrows) {
  StackImpl stack(decoder_stack_options_of(true));
  test::fill_parameters(stack);
  EXPECT_THROW(stack.forward(decoder_stack_rows(2), test::context_of({0, 2})), c10::Error);
}

TEST(DecoderStack, GradientsReachTheSourceThroughRecomputedLayers) {
  StackImpl stack(decoder_stack_options_of(true));
  test::fill_parameters(stack);
  const auto run = [&](bool recomputes) {
    auto encoder_states = encoder_states_of({0, 3, 10});
    encoder_states.states.set_requires_grad(true);
    auto x = decoder_stack_rows(6);
    x.set_requires_grad(true);
    auto context = test::context_of({0, 4, 6});
    context.recomputes_layers = recomputes;
    context.encoder_states = &encoder_states;
    stack.forward(x, context).square().sum().backward();
    std::vector<at::Tensor> gradients{x.grad(), encoder_states.states.grad()};
    for (auto& item : stack.named_parameters()) {
      gradients.push_back(item.value().grad().clone());
      item.value().mutable_grad().reset();
    }
    return gradients;
  };
  const auto kept = run(false);
  const auto recomputed = run(true);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_TRUE(at::equal(kept[i], recomputed[i])) << i;
    EXPECT_GT(kept[i].abs().max().item<float>(), 0) << i;
  }
}

/// Tokens of two sequences step by step through a cache, against all at once.
class DecodingStack : public ::testing::Test {
 protected:
  void SetUp() override { test::fill_parameters(stack_); }

  StackImpl stack_{decoder_stack_options_of(true)};
  EncoderStates encoder_states_ = encoder_states_of({0, 3, 10});
};

TEST_F(DecodingStack, StepsGiveWhatThePassOverAllGives) {
  auto all = test::context_of({0, 6, 10});
  all.encoder_states = &encoder_states_;
  const auto expected = stack_.forward(decoder_stack_rows(10), all);
  const at::NoGradGuard no_grad;
  DecodingState state(2);
  ForwardContext context;
  context.encoder_states = &encoder_states_;
  context.decoding_state = &state;
  const auto x = decoder_stack_rows(10);
  context.layout = state.begin_step({4, 1}, at::kCPU);
  EXPECT_EQ(context.layout.position_limit, 4);
  auto found = stack_.forward(at::cat({x.slice(0, 0, 4), x.slice(0, 6, 7)}), context);
  EXPECT_TRUE(test::near(found.slice(0, 0, 4), expected.slice(0, 0, 4)));
  EXPECT_TRUE(test::near(found.slice(0, 4), expected.slice(0, 6, 7)));
  for (int64_t step = 0; step < 2; ++step) {
    context.layout = state.begin_step({1, 1}, at::kCPU);
    EXPECT_EQ(context.layout.positions[0].item<int64_t>(), 4 + step);
    found = stack_.forward(at::stack({x[4 + step], x[7 + step]}), context);
    EXPECT_TRUE(test::near(found[0], expected[4 + step])) << step;
    EXPECT_TRUE(test::near(found[1], expected[7 + step])) << step;
  }
  EXPECT_EQ(state.lengths(), (std::vector<int64_t>{6, 3}));
}

TEST_F(DecodingStack, ReorderedSequencesGoOnAsTheirParents) {
  const at::NoGradGuard no_grad;
  auto all = test::context_of({0, 3, 6, 9});
  auto sources = encoder_states_;  // the second twice, then the first
  sources.states = at::cat({encoder_states_.states.slice(0, 3), encoder_states_.states.slice(0, 3),
                            encoder_states_.states.slice(0, 0, 3)});
  sources.layout = kernels::Layout::from_offsets({0, 7, 14, 17}, at::kCPU);
  all.encoder_states = &sources;
  const auto x = decoder_stack_rows(4);
  const auto last = decoder_stack_rows(3, 0.4);
  const auto expected =
      stack_.forward(at::cat({x.slice(0, 2), last.slice(0, 0, 1), x.slice(0, 2),
                              last.slice(0, 1, 2), x.slice(0, 0, 2), last.slice(0, 2)}),
                     all);
  DecodingState state(2);
  ForwardContext context;
  context.encoder_states = &encoder_states_;
  context.decoding_state = &state;
  context.layout = state.begin_step({2, 2}, at::kCPU);
  stack_.forward(x, context);
  state.reorder({1, 1, 0});
  context.layout = state.begin_step({1, 1, 1}, at::kCPU);
  const auto found = stack_.forward(last, context);
  for (int64_t b = 0; b < 3; ++b) {
    EXPECT_TRUE(test::near(found[b], expected[3 * b + 2])) << b;
  }
  EXPECT_THROW(state.reorder({3}), c10::Error);
}

TEST_F(DecodingStack, ACacheIsForInferenceOnly) {
  DecodingState state(1);
  ForwardContext context;
  context.encoder_states = &encoder_states_;
  context.decoding_state = &state;
  context.layout = state.begin_step({2}, at::kCPU);
  context.is_training = true;
  EXPECT_THROW(stack_.forward(decoder_stack_rows(2), context), c10::Error);
}

TEST_F(DecodingStack, CachesGrow) {
  const at::NoGradGuard no_grad;
  encoder_states_ = encoder_states_of({0, 3});
  auto all = test::context_of({0, 80});
  all.encoder_states = &encoder_states_;
  const auto x = decoder_stack_rows(80);
  const auto expected = stack_.forward(x, all);
  DecodingState state(1);
  ForwardContext context;
  context.encoder_states = &encoder_states_;
  context.decoding_state = &state;
  context.layout = state.begin_step({30}, at::kCPU);
  stack_.forward(x.slice(0, 0, 30), context);
  for (int64_t i = 30; i < 80; ++i) {
    context.layout = state.begin_step({1}, at::kCPU);
    EXPECT_TRUE(test::near(stack_.forward(x.slice(0, i, i + 1), context)[0], expected[i])) << i;
  }
}

TEST(ParallelBlock, AddsBothToTheSameStream) {
  BlockOptions options{.attention = {.dim = kDecoderStackDim, .heads = 2, .is_causal = true},
                       .feed_forward = {.dim = kDecoderStackDim, .width = 12},
                       .norm = {.dim = kDecoderStackDim}};
  options.norm_placement = NormPlacement::kPre;
  options.is_parallel = true;
  const auto block = make_block(options);
  test::fill_parameters(*block);
  const auto x = decoder_stack_rows(3);
  const auto context = test::context_of({0, 3});
  auto& attention = dynamic_cast<Attention&>(*block->named_children()["attention"]);
  auto& feed_forward = dynamic_cast<FeedForward&>(*block->named_children()["feed_forward"]);
  auto& first = dynamic_cast<Norm&>(*block->named_children()["attention_norm"]);
  auto& second = dynamic_cast<Norm&>(*block->named_children()["feed_forward_norm"]);
  const auto expected = x + attention.forward(first.forward(x), context) +
                        feed_forward.forward(second.forward(x), context);
  EXPECT_TRUE(test::near(block->forward(x, context), expected));
}

// arXiv:1910.10683: 32 buckets for distances up to 128, as in the published models.
}  // namespace
}  // namespace weft::nn
