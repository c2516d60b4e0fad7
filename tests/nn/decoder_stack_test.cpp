#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/attention/decoding_cache.h"
#include "nn/position/relative_bias.h"
#include "nn/stack.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kDecoderStackDim = 8;

Pass decoder_stack_pass_of(std::vector<int64_t> offsets) {
  Pass pass;
  pass.layout = kernels::Layout::of(std::move(offsets), at::kCPU);
  return pass;
}

at::Tensor decoder_stack_rows(int64_t count, double step = 0.7) {
  return at::arange(count * kDecoderStackDim, at::kFloat)
      .view({count, kDecoderStackDim})
      .mul(step)
      .sin();
}

/// Everything at once: grouped heads of their own width, windows, rotary places, a bias by
/// distance, and states of an encoder.
StackOptions decoder_stack_options_of(bool has_cross_attention, NormPlace place = NormPlace::kPre) {
  const AttentionOptions attention{.type = AttentionType::kWindow,
                                   .dim = kDecoderStackDim,
                                   .heads = 4,
                                   .window = 4,
                                   .is_causal = true,
                                   .theta = 50,
                                   .key_heads = 2,
                                   .head_width = 6,
                                   .has_output_bias = false,
                                   .has_distances = true};
  StackOptions options;
  options.layers = 2;
  options.block.attention = attention;
  options.block.has_cross_attention = has_cross_attention;
  options.block.cross_attention = {
      .dim = kDecoderStackDim, .heads = 2, .head_width = 3, .memory_dim = 5};
  options.block.feed_forward = {.dim = kDecoderStackDim, .width = 12, .is_gated = true};
  options.block.norm = {.type = NormType::kRms, .dim = kDecoderStackDim, .epsilon = 1e-6};
  options.block.norm_place = place;
  options.relative = {.buckets = 8, .distance = 16, .heads = 4, .is_causal = true};
  return options;
}

Memory memory_of(std::vector<int64_t> offsets) {
  Memory memory;
  memory.layout = kernels::Layout::of(std::move(offsets), at::kCPU);
  memory.states = at::arange(memory.layout.tokens() * 5, at::kFloat).view({-1, 5}).mul(0.3).cos();
  return memory;
}

TEST(DecoderStack, SeesWhatCameBeforeAlone) {
  Stack stack(decoder_stack_options_of(false));
  test::fill_parameters(stack);
  const auto x = decoder_stack_rows(9);
  auto edited = x.clone();
  edited.select(0, 4).add_(1.0);
  const auto before = stack.forward(x, decoder_stack_pass_of({0, 7, 9}));
  const auto after = stack.forward(edited, decoder_stack_pass_of({0, 7, 9}));
  EXPECT_TRUE(at::equal(before.slice(0, 0, 4), after.slice(0, 0, 4)));
  EXPECT_TRUE(at::equal(before.slice(0, 7), after.slice(0, 7)));
  EXPECT_FALSE(test::near(before[5], after[5]));
}

TEST(DecoderStack, EachSequenceReadsItsOwnSource) {
  for (const auto place : {NormPlace::kPre, NormPlace::kPost}) {
    Stack stack(decoder_stack_options_of(true, place));
    test::fill_parameters(stack);
    auto memory = memory_of({0, 3, 10});
    auto pass = decoder_stack_pass_of({0, 4, 6});
    pass.memory = &memory;
    const auto before = stack.forward(decoder_stack_rows(6), pass);
    memory.states = memory.states.clone();
    memory.states.select(0, 8).add_(1.0);  // of the second
    const auto after = stack.forward(decoder_stack_rows(6), pass);
    EXPECT_TRUE(at::equal(before.slice(0, 0, 4), after.slice(0, 0, 4)));
    EXPECT_FALSE(test::near(before[4], after[4]));
  }
}

TEST(DecoderStack, WithoutASourceCrossAttentionThrows) {
  Stack stack(decoder_stack_options_of(true));
  test::fill_parameters(stack);
  EXPECT_THROW(stack.forward(decoder_stack_rows(2), decoder_stack_pass_of({0, 2})), c10::Error);
}

TEST(DecoderStack, GradientsReachTheSourceThroughRecomputedLayers) {
  Stack stack(decoder_stack_options_of(true));
  test::fill_parameters(stack);
  const auto run = [&](bool recomputes) {
    auto memory = memory_of({0, 3, 10});
    memory.states.set_requires_grad(true);
    auto x = decoder_stack_rows(6);
    x.set_requires_grad(true);
    auto pass = decoder_stack_pass_of({0, 4, 6});
    pass.recomputes_layers = recomputes;
    pass.memory = &memory;
    stack.forward(x, pass).square().sum().backward();
    std::vector<at::Tensor> gradients{x.grad(), memory.states.grad()};
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

  Stack stack_{decoder_stack_options_of(true)};
  Memory memory_ = memory_of({0, 3, 10});
};

TEST_F(DecodingStack, StepsGiveWhatThePassOverAllGives) {
  auto all = decoder_stack_pass_of({0, 6, 10});
  all.memory = &memory_;
  const auto expected = stack_.forward(decoder_stack_rows(10), all);
  const at::NoGradGuard no_grad;
  DecodingCache cache(2);
  Pass pass;
  pass.memory = &memory_;
  pass.cache = &cache;
  const auto x = decoder_stack_rows(10);
  pass.layout = cache.begin({4, 1}, at::kCPU);
  EXPECT_EQ(pass.layout.furthest, 4);
  auto found = stack_.forward(at::cat({x.slice(0, 0, 4), x.slice(0, 6, 7)}), pass);
  EXPECT_TRUE(test::near(found.slice(0, 0, 4), expected.slice(0, 0, 4)));
  EXPECT_TRUE(test::near(found.slice(0, 4), expected.slice(0, 6, 7)));
  for (int64_t step = 0; step < 2; ++step) {
    pass.layout = cache.begin({1, 1}, at::kCPU);
    EXPECT_EQ(pass.layout.positions[0].item<int64_t>(), 4 + step);
    found = stack_.forward(at::stack({x[4 + step], x[7 + step]}), pass);
    EXPECT_TRUE(test::near(found[0], expected[4 + step])) << step;
    EXPECT_TRUE(test::near(found[1], expected[7 + step])) << step;
  }
  EXPECT_EQ(cache.lengths(), (std::vector<int64_t>{6, 3}));
}

TEST_F(DecodingStack, ReorderedSequencesGoOnAsTheirParents) {
  const at::NoGradGuard no_grad;
  auto all = decoder_stack_pass_of({0, 3, 6, 9});
  auto sources = memory_;  // the second twice, then the first
  sources.states = at::cat(
      {memory_.states.slice(0, 3), memory_.states.slice(0, 3), memory_.states.slice(0, 0, 3)});
  sources.layout = kernels::Layout::of({0, 7, 14, 17}, at::kCPU);
  all.memory = &sources;
  const auto x = decoder_stack_rows(4);
  const auto last = decoder_stack_rows(3, 0.4);
  const auto expected =
      stack_.forward(at::cat({x.slice(0, 2), last.slice(0, 0, 1), x.slice(0, 2),
                              last.slice(0, 1, 2), x.slice(0, 0, 2), last.slice(0, 2)}),
                     all);
  DecodingCache cache(2);
  Pass pass;
  pass.memory = &memory_;
  pass.cache = &cache;
  pass.layout = cache.begin({2, 2}, at::kCPU);
  stack_.forward(x, pass);
  cache.reorder({1, 1, 0});
  pass.layout = cache.begin({1, 1, 1}, at::kCPU);
  const auto found = stack_.forward(last, pass);
  for (int64_t b = 0; b < 3; ++b) {
    EXPECT_TRUE(test::near(found[b], expected[3 * b + 2])) << b;
  }
  EXPECT_THROW(cache.reorder({3}), c10::Error);
}

TEST_F(DecodingStack, CachesGrow) {
  const at::NoGradGuard no_grad;
  memory_ = memory_of({0, 3});
  auto all = decoder_stack_pass_of({0, 80});
  all.memory = &memory_;
  const auto x = decoder_stack_rows(80);
  const auto expected = stack_.forward(x, all);
  DecodingCache cache(1);
  Pass pass;
  pass.memory = &memory_;
  pass.cache = &cache;
  pass.layout = cache.begin({30}, at::kCPU);
  stack_.forward(x.slice(0, 0, 30), pass);
  for (int64_t i = 30; i < 80; ++i) {
    pass.layout = cache.begin({1}, at::kCPU);
    EXPECT_TRUE(test::near(stack_.forward(x.slice(0, i, i + 1), pass)[0], expected[i])) << i;
  }
}

TEST(ParallelBlock, AddsBothToTheSameStream) {
  BlockOptions options{.attention = {.dim = kDecoderStackDim, .heads = 2, .is_causal = true},
                       .feed_forward = {.dim = kDecoderStackDim, .width = 12},
                       .norm = {.dim = kDecoderStackDim}};
  options.norm_place = NormPlace::kPre;
  options.is_parallel = true;
  const auto block = make_block(options);
  test::fill_parameters(*block);
  const auto x = decoder_stack_rows(3);
  const auto pass = decoder_stack_pass_of({0, 3});
  auto& attention = dynamic_cast<Attention&>(*block->find("attention"));
  auto& feed_forward = dynamic_cast<FeedForward&>(*block->find("feed_forward"));
  auto& first = dynamic_cast<Norm&>(*block->find("attention_norm"));
  auto& second = dynamic_cast<Norm&>(*block->find("feed_forward_norm"));
  const auto expected =
      x + attention.forward(first.forward(x), pass) + feed_forward.forward(second.forward(x), pass);
  EXPECT_TRUE(test::near(block->forward(x, pass), expected));
}

// arXiv:1910.10683: 32 buckets up to 128 apart, as the published models have them.
TEST(RelativeBias, BucketsAreThoseOfTheModels) {
  const RelativeBiasOptions both{.buckets = 32, .distance = 128};
  EXPECT_EQ(relative_bucket(0, both), 0);
  EXPECT_EQ(relative_bucket(-7, both), 7);
  EXPECT_EQ(relative_bucket(-8, both), 8);
  EXPECT_EQ(relative_bucket(-16, both), 10);
  EXPECT_EQ(relative_bucket(-1000, both), 15);
  EXPECT_EQ(relative_bucket(1, both), 17);
  EXPECT_EQ(relative_bucket(500, both), 31);
  const RelativeBiasOptions causal{.buckets = 32, .distance = 128, .is_causal = true};
  EXPECT_EQ(relative_bucket(5, causal), 0);
  EXPECT_EQ(relative_bucket(-15, causal), 15);
  EXPECT_EQ(relative_bucket(-16, causal), 16);
  EXPECT_EQ(relative_bucket(-40, causal), 23);
  EXPECT_EQ(relative_bucket(-1000, causal), 31);
}

}  // namespace
}  // namespace weft::nn
