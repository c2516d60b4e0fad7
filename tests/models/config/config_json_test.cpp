#include "models/config/config_json.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/tiny.h"
#include "support/config.h"

namespace weft::models {
namespace {

using formats::Json;

ModelOptions read_config(const Json& json) { return options_from_json(json, "config.json"); }

std::string config_message(const Json& json) {
  return test::message_of<formats::Error>([&] { read_config(json); });
}

Json written(const ModelOptions& options) {
  return json_from_options(options, formats::DType::kF32);
}

std::string known_model_types() {
  std::vector<std::string> types;
  for (const auto& [family, names] : all_hf_names()) {
    if (std::find(types.begin(), types.end(), names.model_type) == types.end()) {
      types.emplace_back(names.model_type);
    }
  }
  return join(types);
}

TEST(ConfigJson, WhatIsWrittenReadsBack) {
  for (const auto family : test::transformers()) {
    for (const auto& head_name : heads_of(family)) {
      for (const auto place : {NormPlacement::kPost, NormPlacement::kPre}) {
        if (!has_norm_placement(family, place)) {
          continue;
        }
        auto options = test::tiny_options(family, head_name.head);
        options.norm_placement = place;
        options.classifier_dropout = 0.25;
        options.activation = kernels::Activation::kGeluTanh;
        options.bos_id = 3;
        const auto again = read_config(written(options));
        EXPECT_EQ(written(again), written(options)) << architecture_of(options);
        EXPECT_EQ(again.length, options.length);
        EXPECT_EQ(again.type_vocab_size, options.type_vocab_size);
        EXPECT_EQ(embedding_width(again), embedding_width(options));
        EXPECT_EQ(again.labels, options.labels);
      }
    }
  }
}

TEST(ConfigJson, NamesMatchTransformers) {
  EXPECT_EQ(architecture_of(test::tiny_options(family_named("bert"), Head::kMaskedLm)),
            "BertForMaskedLM");
  EXPECT_EQ(architecture_of(test::tiny_options(family_named("roberta"), Head::kSequence)),
            "RobertaForSequenceClassification");
  auto pre = test::tiny_options(family_named("roberta"), Head::kMaskedLm);
  pre.norm_placement = NormPlacement::kPre;
  EXPECT_EQ(written(pre)["model_type"], "roberta-prelayernorm");
  pre.family = family_named("bert");
  EXPECT_FALSE(is_known_to_transformers(pre));
}

TEST(ConfigJson, RobertaKeepsItsPositionsAfterThePadId) {
  const auto options = test::tiny_options(family_named("roberta"), Head::kMaskedLm);
  EXPECT_EQ(written(options)["max_position_embeddings"], 12);
  EXPECT_EQ(read_config(written(options)).length, 10);
}

TEST(ConfigJson, MissingKeysHaveTheDefaultsOfTheConfigClass) {
  const auto bert = read_config(Json{{"model_type", "bert"}});
  EXPECT_EQ(bert.vocabulary, 30522);
  EXPECT_EQ(bert.head, Head::kNone);
  EXPECT_EQ(bert.norm_epsilon, 1e-12);
  EXPECT_TRUE(bert.tie_word_embeddings);
  const auto roberta = read_config(Json{{"model_type", "roberta"}});
  EXPECT_EQ(roberta.vocabulary, 50265);
  EXPECT_EQ(roberta.length, 510);
  EXPECT_EQ(roberta.norm_epsilon, 1e-12);
  EXPECT_EQ(roberta.type_vocab_size, 2);
  const auto xlm = read_config(Json{{"model_type", "xlm-roberta"}});
  EXPECT_EQ(xlm.vocabulary, 30522);
  EXPECT_EQ(xlm.pad_id, 1);
  const auto distilbert = read_config(Json{{"model_type", "distilbert"}});
  EXPECT_EQ(distilbert.layers, 6);
  EXPECT_EQ(distilbert.type_vocab_size, 0);
  const auto electra = read_config(Json{{"model_type", "electra"}});
  EXPECT_EQ(electra.dim, 256);
  EXPECT_EQ(electra.embedding_size, 128);
}

TEST(ConfigJson, DistilBertHasItsOwnKeyNames) {
  auto options = test::tiny_options(family_named("distilbert"), Head::kSequence);
  auto json = written(options);
  EXPECT_EQ(json["dim"], options.dim);
  EXPECT_EQ(json["n_layers"], options.layers);
  EXPECT_EQ(json["seq_classif_dropout"], 0.2);
  EXPECT_FALSE(json.contains("type_vocab_size"));
  json.erase("n_layers");
  json["num_hidden_layers"] = 7;  // its config class takes the common words too
  EXPECT_EQ(read_config(json).layers, 7);
}

TEST(ConfigJson, DistilBertsHeadsHaveDropoutsOfTheirOwn) {
  auto options = test::tiny_options(family_named("distilbert"), Head::kSequence);
  options.dropout = 0.3;
  auto json = written(options);
  json["seq_classif_dropout"] = 0.4;
  json["qa_dropout"] = 0.5;
  auto again = read_config(json);
  EXPECT_EQ(classifier_dropout(again), 0.4);
  again.head = Head::kSpan;
  EXPECT_EQ(classifier_dropout(again), 0.5);
  again.head = Head::kToken;
  EXPECT_EQ(classifier_dropout(again), 0.3);
  again.classifier_dropout = 0.6;
  EXPECT_EQ(classifier_dropout(again), 0.6);
  EXPECT_EQ(written(again)["seq_classif_dropout"], 0.6);
}

TEST(ConfigJson, OneLabelIsARegression) {
  auto json = written(test::tiny_options(family_named("bert"), Head::kSequence));
  json["id2label"] = {{"0", "LABEL_0"}};
  json["problem_type"] = nullptr;
  EXPECT_TRUE(read_config(json).is_regression);
  EXPECT_EQ(head_outputs(read_config(json)), 1);
  json.erase("id2label");
  EXPECT_EQ(head_outputs(read_config(json)), 2);
  json["problem_type"] = "multi_label_classification";
  EXPECT_TRUE(read_config(json).is_multi_label);
}

// As in a GPT2Config with only vocab_size given.
TEST(ConfigJson, BosOrEosBeyondTheVocabularyIsIgnored) {
  auto json = written(test::tiny_options(family_named("gpt2"), Head::kCausalLm));
  json["bos_token_id"] = 50256;
  json["eos_token_id"] = 50256;
  EXPECT_EQ(read_config(json).bos_id, -1);
  EXPECT_EQ(read_config(json).eos_id, -1);
  json["pad_token_id"] = 50256;
  EXPECT_NE(config_message(json).find("pad_token_id: found 50256"), std::string::npos);
}

TEST(ConfigJson, ErrorsNameTheFileTheKeyAndWhatIsAllowed) {
  const auto sound = written(test::tiny_options());
  const std::vector<std::pair<Json, std::string>> cases = {
      {{{"hidden_size", 32.5}},
       "config.json: hidden_size: found 32.5, allowed is an integer from 1 to 1048576"},
      {{{"hidden_size", "32"}},
       "config.json: hidden_size: found \"32\", allowed is an integer from 1 to 1048576"},
      {{{"hidden_size", nullptr}},
       "config.json: hidden_size: found null, allowed is an integer from 1 to 1048576"},
      {{{"num_attention_heads", 5}},
       "config.json: num_attention_heads: 5 does not divide hidden_size 8"},
      {{{"model_type", "blert"}},
       "config.json: model_type: found 'blert', allowed is " + known_model_types()},
      {{{"layer_norm_eps", -1.0}},
       "config.json: layer_norm_eps: found -1.0, allowed is a number of at least 0 and below 1"},
      {{{"is_decoder", true}},
       "config.json: is_decoder: found true, must be false: this family is an encoder"},
  };
  for (const auto& [change, expected] : cases) {
    auto json = sound;
    json.update(change);
    EXPECT_EQ(config_message(json), expected);
  }
}

TEST(ConfigJson, DebertasConvolutionHasTheDefaultsOfTransformers) {
  auto json = written(test::tiny_options(family_named("deberta-v2")));
  EXPECT_FALSE(json.contains("conv_kernel_size"));
  EXPECT_FALSE(read_config(json).input_convolution);
  json["conv_kernel_size"] = 3;
  const nn::InputConvolutionOptions expected{
      .kernel = 3, .groups = 1, .activation = kernels::Activation::kTanh};
  EXPECT_EQ(read_config(json).input_convolution, expected);
  json["conv_groups"] = 3;
  EXPECT_EQ(config_message(json), "config.json: conv_groups: 3 does not divide hidden_size 8");
  json["conv_kernel_size"] = 4;
  EXPECT_EQ(config_message(json),
            "config.json: conv_kernel_size: found 4, must be odd, or 0 for none");
}

TEST(ConfigJson, TheFirstDebertaIgnoresKeysOfTheSecond) {
  auto json = written(test::tiny_options(family_named("deberta")));
  EXPECT_FALSE(read_config(json).disentangled);
  json.update({{"relative_attention", true},
               {"pos_att_type", "c2p|p2c"},
               {"max_relative_positions", -1},
               {"position_buckets", 4},
               {"share_att_key", true},
               {"norm_rel_ebd", "layer_norm"}});
  const auto options = read_config(json);
  const nn::DisentangledOptions expected{
      .scores = {.shares_projections = false, .has_key_bias = false},
      .buckets = 0,
      .max_distance = options.length,
      .has_norm = false};
  EXPECT_EQ(options.disentangled, expected);
  EXPECT_FALSE(written(options).contains("position_buckets"));
  json["talking_head"] = true;
  EXPECT_NE(config_message(json).find("talking_head: found true, allowed is false"),
            std::string::npos);
}

TEST(ConfigJson, ForeignHeadsActivationsAndHugeSizesAreRefused) {
  const auto sound = written(test::tiny_options());
  for (const Json& change :
       {Json{{"architectures", {"GPT2LMHeadModel"}}}, Json{{"architectures", {"BertForNothing"}}},
        Json{{"hidden_act", "gleu"}}, Json{{"hidden_act", 7}}, Json{{"hidden_size", 1e30}},
        Json{{"vocab_size", 1000000000000}}, Json{{"max_position_embeddings", 1000000000000}},
        Json{{"num_hidden_layers", -2}}, Json{{"pad_token_id", 1000000}},
        Json{{"position_embedding_type", "relative_key"}}}) {
    auto json = sound;
    json.update(change);
    EXPECT_NE(config_message(json).find("config.json: " + change.items().begin().key()),
              std::string::npos)
        << config_message(json);
  }
}

}  // namespace
}  // namespace weft::models
