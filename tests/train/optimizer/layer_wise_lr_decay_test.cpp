#include "train/optimizer/layer_wise_lr_decay.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "models/directory.h"
#include "models/every_head.h"
#include "train/optimizer/freeze.h"
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

TEST(ParameterDepths, OfAnEncoder) {
  const ParameterDepths depths(
      {"embeddings.word.weight", "layers.0.a", "layers.11.b", "layers.norm.bias"});
  EXPECT_EQ(depths.layers(), 12);
  EXPECT_EQ(depths.of("projection.weight"), 0);
  EXPECT_EQ(depths.of("layers.11.b"), 12);
  EXPECT_EQ(depths.of("layers.norm.bias"), 12);
  EXPECT_EQ(depths.of("document.layers.0.a"), 12);
  EXPECT_EQ(depths.of("next_sentence.weight"), 13);
  EXPECT_EQ(depths.of("generator.projection.weight"), 0);
  EXPECT_EQ(depths.of("generator.layers.3.b"), 4);
  EXPECT_EQ(depths.of("generator.layers.20.b"), 12);  // deeper than its discriminator
  EXPECT_EQ(depths.of("generator.head.bias"), 13);
}

TEST(ParameterDepths, BlocksOfADecoderFollowThoseOfItsEncoder) {
  const ParameterDepths depths({"layers.0.a", "layers.1.a", "decoder_layers.0.a",
                                "decoder_layers.2.a", "head.output.weight"});
  EXPECT_EQ(depths.layers(), 5);
  EXPECT_EQ(depths.blocks(), 2);
  EXPECT_EQ(depths.of("embeddings.word.weight"), 0);
  EXPECT_EQ(depths.of("decoder_embeddings.position.weight"), 0);
  EXPECT_EQ(depths.of("layers.norm.weight"), 2);
  EXPECT_EQ(depths.of("decoder_layers.0.a"), 3);
  EXPECT_EQ(depths.of("decoder_layers.2.a"), 5);
  EXPECT_EQ(depths.of("decoder_layers.norm.weight"), 5);
  EXPECT_TRUE(depths.is_head("head.output.weight"));
}

// A module that is added to a model belongs to the backbone or into this list.
TEST(ParameterDepths, OnlyPoolersAndHeadsAreAboveTheBlocks) {
  const std::set<std::string> heads = {
      "distillation_head", "early_exits", "head",        "logits_bias",  "mix",    "mix_scale",
      "next_sentence",     "output",      "output_bias", "output_layer", "pooler", "pooling"};
  for (const auto& options : test::every_head()) {
    const auto names = parameter_names(options);
    const ParameterDepths depths(names);
    for (const auto& parameter : names) {
      if (depths.layers() > 0 && depths.is_head(parameter)) {
        EXPECT_TRUE(heads.contains(parameter.substr(0, parameter.find('.'))))
            << models::architecture_of(options) << ": " << parameter;
      }
    }
  }
}

}  // namespace
}  // namespace weft::train
