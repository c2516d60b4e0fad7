#include "models/config/options.h"

#include <gtest/gtest.h>

#include "models/config/family_definition.h"
#include "models/config/presets.h"
#include "support/config.h"

namespace weft::models {
namespace {

using OptionsKeys = std::vector<std::pair<std::string, std::string>>;

ModelOptions read_options(const OptionsKeys& keys, const ModelOptions* base = nullptr) {
  auto section = test::section("model", keys);
  return read_model_options(section, base);
}

std::string options_message(const OptionsKeys& keys, const ModelOptions* base = nullptr) {
  return test::message_of<config::Error>([&] { read_options(keys, base); });
}

TEST(ModelOptions, PresetsHaveThePublishedSizes) {
  const auto base = read_options({{"preset", "bert-base"}});
  EXPECT_EQ(base.layers, 12);
  EXPECT_EQ(base.dim, 768);
  EXPECT_EQ(base.heads, 12);
  EXPECT_EQ(base.width, 3072);
  EXPECT_EQ(base.type_vocab_size, 2);
  EXPECT_EQ(base.norm_epsilon, 1e-12);
  const auto roberta = read_options({{"preset", "roberta-large"}});
  EXPECT_EQ(roberta.family, family_named("roberta"));
  EXPECT_EQ(roberta.dim, 1024);
  EXPECT_EQ(roberta.type_vocab_size, 1);
  EXPECT_EQ(roberta.norm_epsilon, 1e-5);
}

TEST(ModelOptions, NewerFamiliesHaveTheirPublishedSizes) {
  const auto distilbert = read_options({{"preset", "distilbert-base"}});
  EXPECT_EQ(distilbert.layers, 6);
  EXPECT_EQ(distilbert.type_vocab_size, 0);
  const auto electra = read_options({{"preset", "electra-small"}});
  EXPECT_EQ(electra.dim, 256);
  EXPECT_EQ(electra.embedding_size, 128);
  const auto xlm = read_options({{"preset", "xlm-roberta-base"}});
  EXPECT_EQ(xlm.family, family_named("xlm-roberta"));
  EXPECT_EQ(xlm.type_vocab_size, 1);
  EXPECT_EQ(xlm.pad_id, 1);
}

TEST(ModelOptions, WhatAFamilyDoesNotHaveIsRefused) {
  EXPECT_EQ(
      options_message({{"type", "distilbert"}, {"type_vocab_size", "2"}}),
      "test.yaml:1:44: model.type_vocab_size: 2 is not supported by distilbert, allowed is 0");
  EXPECT_EQ(
      options_message({{"type", "bert"}, {"type_vocab_size", "0"}}),
      "test.yaml:1:38: model.type_vocab_size: 0 is not supported by bert, allowed is 1 or more");
  EXPECT_EQ(options_message({{"type", "bert"}, {"embedding_size", "64"}}),
            "test.yaml:1:37: model.embedding_size: 64 is not supported by bert, allowed is 0");
  EXPECT_EQ(options_message({{"type", "electra"}, {"norm", "{place: pre}"}}),
            "test.yaml:1:38: model.norm.place: 'pre' is not one of post, sandwich, none");
  EXPECT_EQ(options_message({{"type", "distilbert"}, {"norm", "{epsilon: 1e-5}"}}),
            "test.yaml:1:43: model.norm.epsilon: must be 1e-12 for distilbert");
}

TEST(ModelOptions, DebertaMayHaveAConvolution) {
  EXPECT_FALSE(read_options({{"type", "deberta-v2"}}).input_convolution);
  const auto large = read_options({{"preset", "deberta-v2-xlarge"}});
  const nn::InputConvolutionOptions published{
      .kernel = 3, .groups = 1, .activation = kernels::Activation::kGelu};
  EXPECT_EQ(large.input_convolution, published);
  EXPECT_EQ(large.width, 6144);
  const auto message = [](const std::string& keys, const ModelOptions* base = nullptr) {
    return options_message({{"type", "deberta-v2"}, {"input_convolution", keys}}, base);
  };
  EXPECT_EQ(message("{kernel_size: 4}"),
            "test.yaml:1:60: model.input_convolution.kernel_size: found 4, allowed are 0 and odd "
            "numbers");
  EXPECT_EQ(message("{kernel_size: 3, groups: 5}"),
            "test.yaml:1:71: model.input_convolution.groups: found 5, must divide the 768 features "
            "of model.dim");
  EXPECT_EQ(message("{groups: 2}"),
            "test.yaml:1:55: model.input_convolution.groups: has no effect without kernel_size");
  const auto other = message("{kernel_size: 5}", &large);
  EXPECT_NE(other.find("kernel_size: contradicts"), std::string::npos) << other;
  EXPECT_EQ(read_options({{"dropout", "0.2"}}, &large).input_convolution, published);
}

TEST(ModelOptions, TheFirstDebertaHasAVectorForEachDistance) {
  const auto base = read_options({{"preset", "deberta-base"}});
  EXPECT_EQ(base.family, family_named("deberta"));
  ASSERT_TRUE(base.disentangled);
  EXPECT_EQ(nn::distance_span(*base.disentangled), 512);
  EXPECT_FALSE(base.disentangled->scores.has_key_bias);
  const auto message = [](const std::string& position) {
    return options_message({{"type", "deberta"}, {"position", position}});
  };
  EXPECT_EQ(message("{buckets: 8}"),
            "test.yaml:1:44: model.position.buckets: 8 is not supported by deberta, allowed is 0");
  EXPECT_EQ(message("{norm: true}"),
            "test.yaml:1:41: model.position.norm: true is not supported by deberta, allowed is "
            "false");
  EXPECT_EQ(message("{share_projections: true}"),
            "test.yaml:1:54: model.position.share_projections: true is not supported by deberta, "
            "allowed is false");
  EXPECT_EQ(read_options({{"type", "deberta"}, {"position", "{max_distance: 8}"}})
                .disentangled->max_distance,
            8);
}

TEST(ModelOptions, DropoutIsTheDefaultOfDistilBertHeads) {
  auto options = read_options({{"type", "distilbert"}});
  options.head = Head::kSequence;
  EXPECT_EQ(classifier_dropout(options), 0.2);
  options = read_options({{"type", "distilbert"}, {"dropout", "0"}});
  options.head = Head::kSequence;
  EXPECT_EQ(classifier_dropout(options), 0.0);
}

TEST(ModelOptions, EveryPresetReadsAndFits) {
  for (const auto& preset : presets()) {
    const auto options = read_options({{"preset", std::string(preset.name)}});
    EXPECT_EQ(options.family, preset.options.family) << preset.name;
    EXPECT_EQ(options.width, preset.options.width) << preset.name;
    const bool is_of_berts_kind = has_head(options.family, Head::kMaskedLm);
    if (is_of_berts_kind) {
      EXPECT_EQ(options.dim % options.heads, 0) << preset.name;
    }
    if (is_of_berts_kind && options.family != family_named("modernbert") &&
        options.family != family_named("reformer")) {
      EXPECT_EQ(options.width, 4 * options.dim) << preset.name;
    }
  }
}

TEST(ModelOptions, KeysOverrideThePreset) {
  const auto options = read_options({{"preset", "bert-mini"},
                                     {"dim", "64"},
                                     {"layers", "2"},
                                     {"attention", "{type: full, heads: 2}"},
                                     {"position", "{length: 128}"},
                                     {"feed_forward", "{width: 100, activation: relu}"},
                                     {"norm", "{place: pre}"}});
  EXPECT_EQ(options.dim, 64);
  EXPECT_EQ(options.layers, 2);
  EXPECT_EQ(options.heads, 2);
  EXPECT_EQ(options.length, 128);
  EXPECT_EQ(options.width, 100);
  EXPECT_EQ(options.activation, kernels::Activation::kRelu);
  EXPECT_EQ(options.norm_placement, NormPlacement::kPre);
}

TEST(ModelOptions, WidthFollowsAGivenDim) {
  EXPECT_EQ(read_options({{"preset", "bert-mini"}, {"dim", "64"}}).width, 256);
}

TEST(ModelOptions, DropoutIsTheDefaultOfAllDropouts) {
  const auto all = read_options({{"dropout", "0"}});
  EXPECT_EQ(all.dropout, 0);
  EXPECT_EQ(all.attention_dropout, 0);
  const auto some = read_options(
      {{"dropout", "0.3"}, {"attention", "{dropout: 0.2}"}, {"classifier_dropout", "0.4"}});
  EXPECT_EQ(some.attention_dropout, 0.2);
  EXPECT_EQ(some.classifier_dropout, 0.4);
}

TEST(ModelOptions, HeadsThatDoNotDivideAreNamedWithTheirDim) {
  EXPECT_EQ(options_message({{"dim", "64"}, {"attention", "{heads: 5}"}}),
            "test.yaml:1:37: model.attention.heads: 5 does not divide dim 64");
}

TEST(ModelOptions, SizesOutOfRangeAreRefused) {
  for (const auto& [key, value] :
       OptionsKeys{{"dim", "4000000000"}, {"layers", "0"}, {"dim", "-64"}, {"dropout", "1.0"}}) {
    const auto found = options_message({{key, value}});
    EXPECT_NE(found.find("model." + key), std::string::npos) << found;
  }
}

TEST(ModelOptions, AFamilyThatContradictsThePresetIsRefused) {
  EXPECT_NE(options_message({{"preset", "bert-mini"}, {"type", "roberta"}})
                .find("contradicts the preset 'bert-mini'"),
            std::string::npos);
  EXPECT_EQ(read_options({{"type", "roberta"}}).type_vocab_size, 1);
}

TEST(ModelOptions, InitFromLeavesDropoutsFree) {
  auto base = presets().front().options;
  base.classifier_dropout = 0.3;
  base.labels = {"a", "b"};
  const auto options = read_options({{"dropout", "0.0"}}, &base);
  EXPECT_EQ(options.dropout, 0);
  EXPECT_EQ(options.attention_dropout, 0);
  EXPECT_FALSE(options.classifier_dropout.has_value());
  EXPECT_EQ(options.dim, base.dim);
  EXPECT_EQ(options.labels, base.labels);
}

TEST(ModelOptions, InitFromRefusesWhatContradictsTheWeights) {
  const auto base = presets().front().options;  // bert-tiny
  const auto dim = options_message({{"dim", "256"}}, &base);
  EXPECT_NE(dim.find("model.dim: 256 contradicts 128"), std::string::npos) << dim;
  const auto place = options_message({{"norm", "{place: pre}"}}, &base);
  EXPECT_NE(place.find("model.norm.place: pre contradicts post"), std::string::npos) << place;
  const auto preset = options_message({{"preset", "bert-mini"}}, &base);
  EXPECT_NE(preset.find("model.preset: 'bert-mini' contradicts"), std::string::npos) << preset;
  EXPECT_EQ(read_options({{"preset", "bert-tiny"}, {"dim", "128"}}, &base).dim, 128);
}

TEST(ModelOptions, MistypedPresetSuggestsTheNearestName) {
  const auto found = options_message({{"preset", "bert-mimi"}});
  EXPECT_NE(found.find("bert-mini"), std::string::npos) << found;
}

TEST(ModelOptions, TheResolvedSectionReadsBackToTheSame) {
  const std::string text =
      "model: {preset: roberta-mini, dim: 64, dropout: 0.2, attention: {heads: 2, dropout: 0.1}}\n";
  const auto first = config::Document::parse(text, "test.yaml");
  auto section = first.root().section("model", {.help = "The model."});
  const auto options = read_model_options(section);
  const auto second = config::Document::parse(first.resolved(), "resolved.yaml");
  auto again_section = second.root().section("model", {.help = "The model."});
  const auto again = read_model_options(again_section);
  EXPECT_EQ(again.family, options.family);
  EXPECT_EQ(again.dim, 64);
  EXPECT_EQ(again.width, options.width);
  EXPECT_EQ(again.dropout, 0.2);
  EXPECT_EQ(again.attention_dropout, 0.1);
  EXPECT_EQ(again.norm_epsilon, 1e-5);
}

}  // namespace
}  // namespace weft::models
