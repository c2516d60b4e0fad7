#include "train/optimizer/layer_rates.h"

#include <gtest/gtest.h>

#include "models/directory.h"

namespace weft::train {
namespace {

std::shared_ptr<models::Model> classifier() {
  models::ModelOptions options;
  options.head = models::Head::kSequence;
  options.vocabulary = 11;
  options.dim = 8;
  options.heads = 2;
  options.layers = 2;
  options.width = 8;
  options.length = 4;
  options.labels = {"no", "yes"};
  return models::make_model(options, 1);
}

// Two layers: embeddings d^3, layer 0 d^2, layer 1 d, pooler and head 1.
TEST(LayerRates, FallByTheDecayFromTheHeadDown) {
  const auto rate = layer_rates({.layer_decay = 0.5}, *classifier());
  EXPECT_EQ(rate("embeddings.word.weight"), 0.125);
  EXPECT_EQ(rate("layers.0.attention.qkv.weight"), 0.25);
  EXPECT_EQ(rate("layers.1.feed_forward.up.bias"), 0.5);
  EXPECT_EQ(rate("layers.norm.weight"), 0.5);
  EXPECT_EQ(rate("pooler.dense.weight"), 1.0);
  EXPECT_EQ(rate("head.output.weight"), 1.0);
}

TEST(LayerRates, HeadHasItsOwn) {
  const auto rate = layer_rates({.lr = 2e-5, .head_lr = 1e-3}, *classifier());
  EXPECT_DOUBLE_EQ(rate("head.output.bias"), 50.0);
  EXPECT_DOUBLE_EQ(rate("pooler.dense.bias"), 50.0);
  EXPECT_EQ(rate("layers.1.attention.qkv.weight"), 1.0);
  EXPECT_FALSE(layer_rates({}, *classifier()));
}

TEST(LayerRates, CutTheArenaLayerByLayer) {
  const auto model = classifier();
  const Arena arena(*model, at::kFloat, DecayOn::kMatrices,
                    layer_rates({.layer_decay = 0.5}, *model));
  std::vector<double> rates;
  for (const auto& segment : arena.segments()) {
    rates.push_back(segment.rate);
  }
  EXPECT_EQ(rates, (std::vector<double>{0.125, 0.25, 0.5, 1, 0.125, 0.25, 0.5, 1}));
}

TEST(LayerRates, CountLayersAndDepths) {
  EXPECT_EQ(layers_in({"embeddings.word.weight", "layers.0.a", "layers.11.b", "layers.norm.bias"}),
            12);
  EXPECT_EQ(depth_of("projection.weight", 12), 0);
  EXPECT_EQ(depth_of("layers.11.b", 12), 12);
  EXPECT_EQ(depth_of("next_sentence.weight", 12), 13);
  EXPECT_EQ(depth_of("generator.projection.weight", 12), 0);
  EXPECT_EQ(depth_of("generator.layers.3.b", 12), 4);
  EXPECT_EQ(depth_of("generator.layers.20.b", 12), 12);  // deeper than its discriminator
  EXPECT_EQ(depth_of("generator.head.bias", 12), 13);
}

}  // namespace
}  // namespace weft::train
