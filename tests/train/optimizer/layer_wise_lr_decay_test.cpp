#include "train/optimizer/layer_wise_lr_decay.h"

#include <gtest/gtest.h>

#include "models/directory.h"
#include "train/optimizer/parameter_groups.h"

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
TEST(LayerWiseLrDecay, FallByTheDecayFromTheHeadDown) {
  const auto lr_scale = layer_wise_lr_scales({.layer_decay = 0.5}, *classifier());
  EXPECT_EQ(lr_scale("embeddings.word.weight"), 0.125);
  EXPECT_EQ(lr_scale("layers.0.attention.qkv.weight"), 0.25);
  EXPECT_EQ(lr_scale("layers.input_convolution.weight"), 0.25);
  EXPECT_EQ(lr_scale("layers.1.feed_forward.up.bias"), 0.5);
  EXPECT_EQ(lr_scale("layers.norm.weight"), 0.5);
  EXPECT_EQ(lr_scale("pooler.dense.weight"), 1.0);
  EXPECT_EQ(lr_scale("head.output.weight"), 1.0);
}

TEST(LayerWiseLrDecay, HeadHasItsOwn) {
  const auto lr_scale = layer_wise_lr_scales({.lr = 2e-5, .head_lr = 1e-3}, *classifier());
  EXPECT_DOUBLE_EQ(lr_scale("head.output.bias"), 50.0);
  EXPECT_DOUBLE_EQ(lr_scale("pooler.dense.bias"), 50.0);
  EXPECT_EQ(lr_scale("layers.1.attention.qkv.weight"), 1.0);
  EXPECT_FALSE(layer_wise_lr_scales({}, *classifier()));
}

TEST(LayerWiseLrDecay, SegmentTheParametersLayerByLayer) {
  const auto model = classifier();
  const FlatParameters flat_parameters(*model, at::kFloat,
                                       parameter_settings({.layer_decay = 0.5}, *model));
  std::vector<double> rates;
  for (const auto& segment : flat_parameters.segments()) {
    rates.push_back(segment.settings.lr_scale);
  }
  EXPECT_EQ(rates, (std::vector<double>{0.125, 0.25, 0.5, 1, 0.125, 0.25, 0.5, 1}));
}

TEST(LayerWiseLrDecay, CountLayersAndDepths) {
  EXPECT_EQ(
      count_layers({"embeddings.word.weight", "layers.0.a", "layers.11.b", "layers.norm.bias"}),
      12);
  EXPECT_EQ(parameter_depth("projection.weight", 12), 0);
  EXPECT_EQ(parameter_depth("layers.11.b", 12), 12);
  EXPECT_EQ(parameter_depth("next_sentence.weight", 12), 13);
  EXPECT_EQ(parameter_depth("generator.projection.weight", 12), 0);
  EXPECT_EQ(parameter_depth("generator.layers.3.b", 12), 4);
  EXPECT_EQ(parameter_depth("generator.layers.20.b", 12), 12);  // deeper than its discriminator
  EXPECT_EQ(parameter_depth("generator.head.bias", 12), 13);
}

}  // namespace
}  // namespace weft::train
