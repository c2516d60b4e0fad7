#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/block.h"
#include "nn/position/position.h"
#include "nn/sublayer.h"
#include "support/attention.h"
#include "support/config.h"
#include "support/context.h"
#include "support/formula_values.h"
#include "support/tensor_file.h"

/// Attention types against layers of public libraries (scripts/make_attention_reference.py and
/// make_small_attention_reference.py).
namespace weft::models {
namespace {

constexpr int64_t kReferenceDim = 16;

void expect_reference(const std::string& name,
                      const std::string& keys,
                      const std::vector<nn::PositionModifierMaker>& modifiers = {}) {
  const auto file =
      test::read_tensors(WEFT_SOURCE_DIR "/tests/reference/attention/" + name + ".safetensors");
  const auto layer = test::attention_layer(
      keys, {.dim = kReferenceDim, .heads = 2, .position_modifiers = modifiers, .dropout = 0});
  std::map<std::string, at::Tensor> values{{"output.weight", at::eye(kReferenceDim)},
                                           {"output.bias", at::zeros({kReferenceDim})}};
  for (const auto& [key, value] : file) {
    if (key != "x" && key != "y" && key != "dx") {
      values[key] = value;
    }
  }
  for (auto& buffer : layer->named_buffers()) {
    if (const auto value = values.extract(buffer.key()); !value.empty()) {
      buffer.value().copy_(value.mapped());
    }
  }
  EXPECT_EQ(values.size(), layer->named_parameters().size());
  test::set_parameters(*layer, values);
  const auto x = file.at("x").clone().requires_grad_();
  const auto y = layer->forward(x, test::context_of({0, x.size(0)}));
  EXPECT_TRUE(test::near(y, file.at("y"), 1e-5)) << name;
  const auto weights = at::arange(y.numel(), at::kDouble).cos().view_as(y);
  const auto dx = torch::autograd::grad({(y * weights).sum()}, {x})[0];
  const auto size = file.at("dx").abs().max().item<double>();
  EXPECT_TRUE(test::near(dx, file.at("dx"), 1e-4 * size)) << name;
}

TEST(AttentionReference, Longformer) {
  expect_reference("longformer", "type: longformer, window: 8, global_tokens: 2");
}

TEST(AttentionReference, Nystromformer) {
  expect_reference("nystrom", "type: nystrom, landmarks: 6, convolution: 5");
}

TEST(AttentionReference, ReformerOfShortTexts) {
  expect_reference("reformer", "type: reformer, chunk: 24, rounds: 2");
}

TEST(AttentionReference, RoutingToTheTopTokens) {
  expect_reference("routing", "type: routing, assign: top, clusters: 4, window: 8, local_heads: 0");
}

TEST(AttentionReference, Linformer) {
  expect_reference("linformer",
                   "type: linformer, landmarks: 6, length: 28, share_projections: false");
}

TEST(AttentionReference, TalkingHeads) { expect_reference("talking_heads", "type: talking_heads"); }

TEST(AttentionReference, Performer) {
  expect_reference("performer", "type: performer, features: 20");
}

TEST(AttentionReference, Informer) {
  expect_reference("informer", "type: informer, factor: 2, sample: false");
}

/// Compares output and gradient of the input with a variant of a file.
/// `values`: of all parameters and buffers but the projections.
void expect_small_reference(const std::string& file,
                            const std::string& variant,
                            const std::string& keys,
                            std::map<std::string, at::Tensor> values,
                            double query_scale = 1) {
  constexpr int64_t kDim = 8;
  const auto expected =
      test::read_tensors(WEFT_SOURCE_DIR "/tests/reference/attention/" + file + ".safetensors");
  const auto layer = test::attention_layer(keys, {.dim = kDim, .heads = 2, .dropout = 0});
  for (auto& buffer : layer->named_buffers()) {
    buffer.value().copy_(values.extract(buffer.key()).mapped());
  }
  values["qkv.weight"] =
      at::cat({test::formula_values(1, {kDim, kDim}) * query_scale,
               test::formula_values(2, {kDim, kDim}), test::formula_values(3, {kDim, kDim})});
  values["qkv.bias"] = at::zeros({3 * kDim});
  values["output.weight"] = at::eye(kDim);
  values["output.bias"] = at::zeros({kDim});
  EXPECT_EQ(values.size(), layer->named_parameters().size());
  test::set_parameters(*layer, values);
  const auto& y = expected.at(variant + ".y");
  const auto x = test::formula_values(0, {y.size(0), kDim}).requires_grad_();
  const auto own = layer->forward(x, test::context_of({0, x.size(0)}));
  EXPECT_TRUE(test::near(own, y, 1e-6)) << variant;
  const auto weights = at::arange(y.numel(), at::kDouble).cos().view_as(y);
  const auto dx = torch::autograd::grad({(own * weights).sum()}, {x})[0];
  EXPECT_TRUE(test::near(dx, expected.at(variant + ".dx"), 1e-5)) << variant;
}

// In both, hashes of 12 bits in four clusters, three iterations, the same first centres.
TEST(AttentionReference, Clustered) {
  expect_small_reference("clustered", "plain",
                         "type: clustered, clusters: 4, bits: 12, iterations: 3, top: 0",
                         {{"core.planes", test::formula_values(4, {12, 5})}});
}

TEST(AttentionReference, ImprovedClustered) {
  expect_small_reference("clustered", "improved",
                         "type: clustered, clusters: 4, bits: 12, iterations: 3, top: 3",
                         {{"core.planes", test::formula_values(4, {12, 5})}});
}

// mesh-tensorflow mixes with a sigmoid, does not scale dot products, and predicts dense scores from
// relu(q) with a matrix that all heads share.
TEST(AttentionReference, RandomSynthesizerWithDotProducts) {
  expect_small_reference("synthesizer", "random", "type: synthesizer, scores: [dot, random]",
                         {{"core.score.member_2.table", test::formula_values(4, {2, 512, 512})},
                          {"core.score.mixture", at::tensor({0.0F, 0.3F})}},
                         /*query_scale=*/2);
}

TEST(AttentionReference, DenseSynthesizerWithDotProducts) {
  expect_small_reference(
      "synthesizer", "dense", "type: synthesizer, scores: [dot, dense]",
      {{"core.score.member_2.first", at::eye(4).mul(0.5).expand({2, 4, 4}).contiguous()},
       {"core.score.member_2.second",
        test::formula_values(5, {4, 512}).expand({2, 4, 512}).contiguous()},
       {"core.score.mixture", at::tensor({0.0F, -0.2F})}},
      /*query_scale=*/2);
}

// Batch norm over a single text is instance norm.
TEST(AttentionReference, DistillingOfInformer) {
  constexpr int64_t kDim = 8;
  const auto expected =
      test::read_tensors(WEFT_SOURCE_DIR "/tests/reference/attention/distilling.safetensors");
  auto section =
      test::section("model.distilling", {{"norm", "instance"}, {"padding_mode", "circular"}});
  const auto layer = nn::find_sublayer('d')->read(section)({.norm = {.dim = kDim}});
  test::set_parameters(*layer, {{"convolution.weight", test::formula_values(1, {kDim, 3 * kDim})},
                                {"convolution.bias", test::formula_values(2, {kDim})},
                                {"norm.weight", test::formula_values(3, {kDim})},
                                {"norm.bias", test::formula_values(4, {kDim})}});
  for (const std::string name : {"even", "odd"}) {
    const int64_t length = name == "even" ? 6 : 5;
    const auto x = test::formula_values(0, {length, kDim}).requires_grad_();
    const auto y = layer->forward(x, test::context_of({0, length}));
    EXPECT_TRUE(test::near(y, expected.at(name + ".y"), 1e-6)) << name;
    const auto weights = at::arange(y.numel(), at::kDouble).cos().view_as(y);
    EXPECT_TRUE(test::near(torch::autograd::grad({(y * weights).sum()}, {x})[0],
                           expected.at(name + ".dx"), 1e-5))
        << name;
  }
}

TEST(AttentionReference, TransformerXlPositions) {
  auto section = test::section("model.position");
  const auto position = nn::position_types().at("transformer_xl").read(section)({});
  expect_reference("transformer_xl", "type: full", {position->modifier});
}

}  // namespace
}  // namespace weft::models
