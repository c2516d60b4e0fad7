#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/block.h"
#include "nn/initial_values.h"
#include "support/components.h"
#include "support/context.h"
#include "support/tensors.h"

/// Residual connections, places of norms, and the sub-layers `v` and `n`.
namespace weft::nn {
namespace {

constexpr int64_t kResidualDim = 8;

BlockOptions residual_block(const std::string& order, NormPlacement place = NormPlacement::kPre) {
  return {
      .order = order,
      .attention = {.dim = kResidualDim, .heads = 2, .dropout = 0},
      .feed_forward = {.dim = kResidualDim, .width = 12, .activation = kernels::Activation::kSilu},
      .norm = {.dim = kResidualDim, .epsilon = 1e-5},
      .norm_placement = place,
      .dropout = 0};
}

BlockOptions with_residual(BlockOptions options, const std::string& keys) {
  options.make_residual_scale = test::component(residual_types(), "residual", keys).make;
  return options;
}

BlockOptions with_convolution(BlockOptions options, const std::string& keys) {
  const auto document = config::Document::parse("{" + keys + "}", "test.yaml");
  auto section = document.root();
  options.make_sublayer["convolution"] = find_sublayer('v')->read(section);
  return options;
}

std::shared_ptr<Block> filled(const BlockOptions& options) {
  auto block = make_block(options);
  test::fill_parameters(*block);
  return block;
}

at::Tensor residual_input(int64_t count) {
  return (at::arange(count * kResidualDim, at::kDouble) * 1.7)
      .sin()
      .view({count, kResidualDim})
      .to(at::kFloat);
}

at::Tensor normed(const torch::nn::Module& block, const std::string& name, const at::Tensor& x) {
  const auto parameters = block.named_parameters();
  return at::layer_norm(x, {kResidualDim}, parameters[name + ".weight"], parameters[name + ".bias"],
                        1e-5);
}

at::Tensor feed_forward_in(const torch::nn::Module& block, const at::Tensor& x) {
  return std::dynamic_pointer_cast<FeedForward>(block.named_children()["feed_forward"])
      ->forward(x, {});
}

TEST(NormPlaces, SandwichNormsAreBeforeAndBehindTheSublayer) {
  const auto block = filled(residual_block("f", NormPlacement::kSandwich));
  const auto x = residual_input(5);
  const auto expected = x + normed(*block, "feed_forward_output_norm",
                                   feed_forward_in(*block, normed(*block, "feed_forward_norm", x)));
  EXPECT_TRUE(test::near(block->forward(x, test::context_of({0, 5})), expected));
}

TEST(NormPlaces, NoneHasNoNorms) {
  const auto block = filled(residual_block("f", NormPlacement::kNone));
  const auto x = residual_input(5);
  EXPECT_TRUE(
      test::near(block->forward(x, test::context_of({0, 5})), x + feed_forward_in(*block, x)));
  EXPECT_EQ(block->named_children().size(), 1);
}

TEST(Residual, ReZeroStartsAsTheIdentityAndOneIsPlain) {
  const auto options = residual_block("af", NormPlacement::kNone);
  const auto plain = filled(options);
  const auto block = filled(with_residual(options, "type: rezero"));
  const auto x = residual_input(5);
  const auto context = test::context_of({0, 2, 5});
  auto parameters = block->named_parameters();
  const auto fill = [&](double scale) {
    const at::NoGradGuard guard;
    for (const std::string name : {"attention_scale.scale", "feed_forward_scale.scale"}) {
      parameters[name].fill_(scale);
    }
    for (auto& item : plain->named_parameters()) {
      item.value().copy_(parameters[item.key()]);
    }
  };
  fill(0);
  EXPECT_TRUE(test::near(block->forward(x, context), x, 0));
  const auto gradient = torch::autograd::grad({block->forward(x, context).square().sum()},
                                              {parameters["feed_forward_scale.scale"]})[0];
  EXPECT_NE(gradient.item<double>(), 0);
  fill(1);
  EXPECT_TRUE(test::near(block->forward(x, context), plain->forward(x, context)));
}

TEST(Residual, LayerScaleScalesEachFeature) {
  const auto block = filled(with_residual(residual_block("f"), "type: layer_scale"));
  const auto scale = block->named_parameters()["feed_forward_scale.scale"];
  ASSERT_EQ(scale.numel(), kResidualDim);
  const auto x = residual_input(5);
  const auto expected = x + scale * feed_forward_in(*block, normed(*block, "feed_forward_norm", x));
  EXPECT_TRUE(test::near(block->forward(x, test::context_of({0, 5})), expected));
  const auto module = block->named_children()["feed_forward_scale"];
  const at::NoGradGuard guard;
  dynamic_cast<const InitialValues&>(*module).initialize("scale", scale);
  EXPECT_TRUE(test::near(scale, at::full({kResidualDim}, 0.1)));
}

TEST(Residual, ConstantHalvesFeedForwards) {
  const auto block = filled(with_residual(residual_block("f"), "type: constant"));
  const auto x = residual_input(5);
  const auto expected = x + 0.5 * feed_forward_in(*block, normed(*block, "feed_forward_norm", x));
  EXPECT_TRUE(test::near(block->forward(x, test::context_of({0, 5})), expected));
  const auto attention = filled(with_residual(residual_block("a"), "type: constant"));
  EXPECT_EQ(attention->named_children().size(), 2) << "no scale of attention";
}

TEST(BlockOrders, MayDifferBetweenLayers) {
  EXPECT_EQ(block_orders("faf"), std::vector<std::string>{"faf"});
  EXPECT_EQ(block_orders("a*2 af f"), (std::vector<std::string>{"a", "a", "af", "f"}));
  EXPECT_EQ(block_orders(""), std::vector<std::string>{});
  EXPECT_FALSE(block_error("a*2  af*3 f"));
  EXPECT_TRUE(block_error("a*0 f"));
  EXPECT_TRUE(block_error("a*2x"));
  EXPECT_TRUE(block_error("a*-1"));
  EXPECT_TRUE(block_error("a*99999999999999999999"));
  EXPECT_TRUE(block_error("*2"));
  EXPECT_TRUE(block_error(" "));
}

TEST(Convolution, HasTheReceptiveFieldOfItsKernelWithinASequence) {
  const auto block = filled(with_convolution(residual_block("v"), "kernel_size: 5"));
  const auto context = test::context_of({0, 9, 20});
  const auto x = residual_input(20);
  const auto y = block->forward(x, context);
  for (const int64_t t : {4, 7, 9, 12}) {
    auto edited = x.clone();
    edited[t].add_(0.5 * at::arange(kResidualDim).cos());
    const auto change = (block->forward(edited, context) - y).abs().amax(1);
    for (int64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(change[i].item<double>() > 0, std::abs(i - t) <= 2 && (i < 9) == (t < 9))
          << t << " " << i;
    }
  }
}

TEST(Convolution, OfACausalModelSeesNoLaterToken) {
  auto options = with_convolution(residual_block("v"), "kernel_size: 5");
  options.attention.is_causal = true;
  const auto block = filled(options);
  const auto context = test::context_of({0, 12});
  const auto x = residual_input(12);
  auto edited = x.clone();
  edited[6].add_(0.5 * at::arange(kResidualDim).cos());
  const auto change = (block->forward(edited, context) - block->forward(x, context)).abs().amax(1);
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(change[i].item<double>() > 0, i >= 6 && i <= 10) << i;
  }
}

TEST(Convolution, WithoutAnOutputLeavesMacaron) {
  const auto conformer = filled(
      with_residual(with_convolution(residual_block("favfn"), "kernel_size: 3"), "type: constant"));
  const auto macaron = filled(with_residual(residual_block("fafn"), "type: constant"));
  const at::NoGradGuard guard;
  auto parameters = conformer->named_parameters();
  parameters["convolution.output.weight"].zero_();
  for (auto& item : macaron->named_parameters()) {
    item.value().copy_(parameters[item.key()]);
  }
  const auto x = residual_input(7);
  const auto context = test::context_of({0, 3, 7});
  EXPECT_TRUE(test::near(conformer->forward(x, context), macaron->forward(x, context)));
  const auto selection = RowSelection::from_rows({1, 4, 6}, context, 0);
  EXPECT_TRUE(test::near(conformer->forward_selected(x, context, selection),
                         selection.select(conformer->forward(x, context))));
}

}  // namespace
}  // namespace weft::nn
