#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/block.h"
#include "support/components.h"
#include "support/context.h"
#include "support/tensor_file.h"
#include "support/tensors.h"

/// Blocks against those of transformers (scripts/make_block_reference.py).
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

}  // namespace
}  // namespace weft::models
