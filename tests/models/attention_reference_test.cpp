#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/position/position.h"
#include "support/attention.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensor_file.h"

/// Attention types against layers of public libraries (scripts/make_attention_reference.py).
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

TEST(AttentionReference, TransformerXlPositions) {
  auto section = test::section("model.position");
  const auto position = nn::position_types().at("transformer_xl").read(section)({});
  expect_reference("transformer_xl", "type: full", {position->modifier});
}

}  // namespace
}  // namespace weft::models
