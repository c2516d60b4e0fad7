#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/carried_state.h"
#include "nn/stack.h"
#include "support/attention.h"
#include "support/components.h"
#include "support/context.h"
#include "support/tensor_file.h"
#include "support/tensors.h"

/// Blocks against those of transformers and of the authors (scripts/make_block_reference.py).
namespace weft::models {
namespace {

TEST(BlockReference, Conformer) {
  constexpr int64_t kDim = 8;
  const auto document = config::Document::parse("{kernel_size: 5}", "test.yaml");
  auto section = document.root();
  const auto block = nn::make_block(
      {.order = "favfn",
       .attention = {.dim = kDim, .heads = 2, .dropout = 0},
       .feed_forward = {.dim = kDim, .width = 12, .activation = kernels::Activation::kSilu},
       .make_sublayer = {{"convolution", nn::find_sublayer('v')->read(section)}},
       .make_residual_scale =
           test::component(nn::residual_types(), "residual", "type: constant").make,
       .norm = {.dim = kDim, .epsilon = 1e-5},
       .norm_placement = nn::NormPlacement::kPre,
       .dropout = 0});
  auto file = test::read_tensors(WEFT_SOURCE_DIR "/tests/reference/blocks/conformer.safetensors");
  const auto x = file.extract("x").mapped().requires_grad_();
  const auto expected = file.extract("y").mapped();
  const auto dx = file.extract("dx").mapped();
  EXPECT_EQ(file.size(), block->named_parameters().size());
  test::set_parameters(*block, file);
  const auto y = block->forward(x, test::context_of({0, x.size(0)}));
  EXPECT_TRUE(test::near(y, expected, 1e-5));
  const auto weights = at::arange(y.numel(), at::kDouble).cos().view_as(y);
  EXPECT_TRUE(test::near(torch::autograd::grad({(y * weights).sum()}, {x})[0], dx, 1e-4));
}

TEST(BlockReference, TransformerXlOverFourSegments) {
  constexpr int64_t kDim = 8;
  constexpr int64_t kLength = 5;
  const auto position =
      test::component(nn::position_types(), "position", "type: transformer_xl").make({.dim = kDim});
  const nn::BlockOptions block{
      .attention = {.dim = kDim, .heads = 2, .is_causal = true, .has_bias = false, .dropout = 0},
      .make_attention = test::attention_choice("type: transformer_xl, memory: 7").make,
      .feed_forward = {.dim = kDim, .width = 12, .activation = kernels::Activation::kRelu},
      .norm = {.dim = kDim, .epsilon = 1e-5},
      .dropout = 0};
  nn::StackImpl stack({.layers = {block, block}, .positions = {position}});
  auto file =
      test::read_tensors(WEFT_SOURCE_DIR "/tests/reference/blocks/transformer_xl.safetensors");
  const auto x = file.extract("x").mapped();
  const auto expected = file.extract("y").mapped();
  const auto dx = file.extract("dx").mapped();
  EXPECT_EQ(file.size(), stack.named_parameters().size());
  test::set_parameters(stack, file);
  nn::CarriedState state;
  for (int64_t begin = 0; begin < x.size(0); begin += kLength) {
    auto context = test::context_of({0, kLength});
    context.carried_state = &state;
    context.streams = {0};
    const auto segment = x.narrow(0, begin, kLength).clone().requires_grad_();
    const auto y = stack.forward(segment, context);
    EXPECT_TRUE(test::near(y, expected.narrow(0, begin, kLength), 1e-5)) << begin;
    state.commit();
    if (begin + kLength == x.size(0)) {
      const auto weights = at::arange(y.numel(), at::kDouble).cos().view_as(y);
      EXPECT_TRUE(test::near(torch::autograd::grad({(y * weights).sum()}, {segment})[0], dx, 1e-4));
    }
  }
}

/// With and without recomputation, which must give the shared scores of positions their gradient.
TEST(BlockReference, Tupe) {
  constexpr int64_t kDim = 8;
  const nn::BlockOptions block{.attention = {.dim = kDim, .heads = 2, .dropout = 0},
                               .feed_forward = {.dim = kDim, .width = 12},
                               .norm = {.dim = kDim, .epsilon = 1e-5},
                               .dropout = 0};
  for (const bool recomputes : {false, true}) {
    const auto position =
        test::component(nn::position_types(), "position",
                        "type: tupe, num_buckets: 6, max_distance: 8")
            .make(
                {.dim = kDim, .hidden_dim = kDim, .length = 12, .heads = 2, .head_dim = kDim / 2});
    nn::StackImpl stack({.layers = {block, block}, .positions = {position}});
    auto file = test::read_tensors(WEFT_SOURCE_DIR "/tests/reference/blocks/tupe.safetensors");
    const auto x = file.extract("x").mapped().requires_grad_();
    const auto expected = file.extract("y").mapped();
    const auto dx = file.extract("dx").mapped();
    const auto dweight = file.extract("dweight").mapped();
    EXPECT_EQ(file.size(), stack.named_parameters().size());
    test::set_parameters(stack, file);
    auto context = test::context_of({0, x.size(0)});
    context.recomputes_layers = recomputes;
    const auto y = stack.forward(x, context);
    EXPECT_TRUE(test::near(y, expected, 1e-5));
    const auto weights = at::arange(y.numel(), at::kDouble).cos().view_as(y);
    (y * weights).sum().backward();
    EXPECT_TRUE(test::near(x.grad(), dx, 1e-4));
    EXPECT_TRUE(
        test::near(stack.named_parameters()["shared_positions.weight"].grad(), dweight, 1e-4));
  }
}

}  // namespace
}  // namespace weft::models
