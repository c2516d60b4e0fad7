#include <cmath>
#include <filesystem>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "formats/json.h"
#include "models/config/config_json.h"
#include "models/config/presets.h"
#include "models/directory.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensors.h"
#include "tiny.h"

namespace weft::models {
namespace {

using formats::Json;
using Names = std::vector<std::string>;

ModelOptions read_xlm(const Json& json) { return options_from_json(json, "config.json"); }

std::string xlm_message(Json json) {
  json["model_type"] = "xlm";
  return test::message_of<formats::Error>([&] { read_xlm(json); });
}

ModelOptions configured(const std::vector<std::pair<std::string, std::string>>& keys,
                        const ModelOptions* base = nullptr) {
  auto section = test::section("model", keys);
  return read_model_options(section, base);
}

std::string refusal(const std::vector<std::pair<std::string, std::string>>& keys,
                    const ModelOptions* base = nullptr) {
  return test::message_of<config::Error>([&] { configured(keys, base); });
}

int64_t xlm_parameters_of(std::string_view name, int64_t vocabulary) {
  int64_t count = 0;
  for (const auto& preset : presets()) {
    auto options = preset.options;
    options.head = Head::kMaskedLm;
    options.vocabulary = vocabulary;
    for (const auto& tensor :
         preset.name == name ? weight_map(options) : std::vector<StoredTensor>{}) {
      int64_t size = 1;
      for (const auto side : tensor.shape) {
        size *= side;
      }
      count += size;
    }
  }
  return count;
}

// Numbers of parameters of XLMWithLMHeadModel with the configs of the published models.
TEST(Xlm, PresetsHaveThePublishedNumbersOfParameters) {
  EXPECT_EQ(xlm_parameters_of("xlm-mlm-en-2048", 30145), 667'119'041);
  EXPECT_EQ(xlm_parameters_of("xlm-mlm-tlm-xnli15-1024", 95000), 249'071'384);
}

TEST(Xlm, WhatIsWrittenReadsBack) {
  auto options = test::tiny_options(family_named("xlm"), Head::kSequence);
  options.activation = kernels::Activation::kRelu;
  options.has_sinusoidal_positions = true;
  options.sequence_dropout = 0.3;
  const auto json = json_from_options(options, formats::DType::kF32);
  EXPECT_EQ(json["architectures"][0], "XLMForSequenceClassification");
  EXPECT_EQ(json["lang2id"], (Json{{"de", 0}, {"en", 1}}));
  EXPECT_EQ(json["id2lang"], (Json{{"0", "de"}, {"1", "en"}}));
  EXPECT_EQ(json["n_langs"], 2);
  const auto again = read_xlm(json);
  EXPECT_EQ(json_from_options(again, formats::DType::kF32), json);
  EXPECT_EQ(again.xlm.languages, (Names{"de", "en"}));
  EXPECT_EQ(again.type_vocab_size, 2);
  EXPECT_EQ(again.activation, kernels::Activation::kRelu);
  EXPECT_TRUE(again.has_sinusoidal_positions);
  EXPECT_EQ(again.sequence_dropout, 0.3);
}

TEST(Xlm, SavedModelsCanGenerateInTransformers) {
  const test::Folder folder;
  auto options = test::tiny_options(family_named("xlm"));
  options.head = Head::kMaskedLm;
  save_model(folder.path(), *make_model(options, 1), formats::DType::kF32);
  EXPECT_EQ(formats::read_json(folder.path("generation_config.json")).at("eos_token_id"),
            formats::read_json(folder.path("config.json")).at("eos_token_id"));
  const test::Folder other;
  options.head = Head::kNone;
  save_model(other.path(), *make_model(options, 1), formats::DType::kF32);
  EXPECT_FALSE(std::filesystem::exists(other.path("generation_config.json")));
}

TEST(Xlm, MissingKeysHaveTheDefaultsOfTheConfigClass) {
  const auto options = read_xlm(Json{{"model_type", "xlm"}});
  EXPECT_EQ(options.vocabulary, 30145);
  EXPECT_EQ(options.dim, 2048);
  EXPECT_EQ(options.width, 8192);
  EXPECT_EQ(options.heads, 16);
  EXPECT_EQ(options.pad_id, 2);
  EXPECT_EQ(options.bos_id, 0);
  EXPECT_EQ(options.eos_id, 1);
  EXPECT_EQ(options.type_vocab_size, 0);
  EXPECT_EQ(options.sequence_dropout, 0.1);
  EXPECT_EQ(*options.xlm.embedding_init_std, 1 / std::sqrt(2048.0));
}

TEST(Xlm, EachHeadHasTheDropoutOfTheLibrary) {
  auto options =
      read_xlm(Json{{"model_type", "xlm"}, {"dropout", 0.2}, {"summary_first_dropout", 0.3}});
  const auto dropout_of = [&](Head head) {
    options.head = head;
    return classifier_dropout(options);
  };
  EXPECT_EQ(dropout_of(Head::kSequence), 0.3);
  EXPECT_EQ(dropout_of(Head::kToken), 0.2);
  EXPECT_EQ(dropout_of(Head::kSpan), 0.0);
}

TEST(Xlm, LanguagesWithoutNamesGoByTheirNumbers) {
  const auto options = read_xlm(Json{{"model_type", "xlm"}, {"n_langs", 3}});
  EXPECT_EQ(options.xlm.languages, (Names{"0", "1", "2"}));
  EXPECT_TRUE(uses_language_ids(options));
  const auto untold =
      read_xlm(Json{{"model_type", "xlm"}, {"n_langs", 3}, {"use_lang_emb", false}});
  EXPECT_FALSE(uses_language_ids(untold));
  EXPECT_EQ(json_from_options(untold, formats::DType::kF32)["n_langs"], 3);
}

TEST(Xlm, WhatIsNotComputedIsRefused) {
  EXPECT_EQ(xlm_message({{"causal", true}}),
            "config.json: causal: found true, allowed is false: causal attention is not supported");
  EXPECT_EQ(xlm_message({{"asm", true}}),
            "config.json: asm: found true, allowed is false: adaptive softmax is not supported");
  EXPECT_EQ(xlm_message({{"is_encoder", false}}),
            "config.json: is_encoder: found false, allowed is true: this family is an encoder");
  const auto classifier = [](const char* key, const Json& value) {
    return xlm_message({{"architectures", {"XLMForSequenceClassification"}}, {key, value}});
  };
  EXPECT_EQ(classifier("summary_type", "mean"),
            "config.json: summary_type: found 'mean', allowed is 'first'");
  EXPECT_EQ(classifier("summary_activation", "tanh"),
            "config.json: summary_activation: found 'tanh', allowed is null");
  EXPECT_EQ(classifier("summary_proj_to_labels", false),
            "config.json: summary_proj_to_labels: found false, allowed is true: the classifier is "
            "the projection");
  EXPECT_EQ(classifier("summary_last_dropout", 0.1),
            "config.json: summary_last_dropout: found 0.1, allowed is 0");
  EXPECT_EQ(xlm_message({{"n_langs", 3}, {"lang2id", {{"de", 0}, {"en", 1}}}}),
            "config.json: lang2id: must have ids for 3 languages (n_langs)");
  EXPECT_EQ(xlm_message({{"n_langs", 2}, {"lang2id", {{"de", 1}, {"en", 1}}}}),
            "config.json: lang2id: each language must have its own id, found 'en' with 1");
}

TEST(Xlm, KeysOfTheConfigMakeIt) {
  const auto options = configured({{"preset", "xlm-mini"},
                                   {"languages", "[en, fr, sw]"},
                                   {"embed_init_std", "0.5"},
                                   {"position", "{length: 64, sinusoidal_init: true}"}});
  EXPECT_EQ(options.dim, 256);
  EXPECT_EQ(options.width, 1024);
  EXPECT_EQ(options.type_vocab_size, 3);
  EXPECT_EQ(options.length, 64);
  EXPECT_TRUE(options.has_sinusoidal_positions);
  EXPECT_EQ(*options.xlm.embedding_init_std, 0.5);
  EXPECT_EQ(configured({{"preset", "xlm-mini"}, {"languages", "[en]"}}).type_vocab_size, 0);
  EXPECT_EQ(
      configured({{"preset", "xlm-mini"}, {"languages", "[en, fr]"}, {"use_lang_emb", "false"}})
          .type_vocab_size,
      0);
}

TEST(Xlm, KeysThatDoNotFitAreRefused) {
  EXPECT_EQ(refusal({{"preset", "xlm-mini"}, {"languages", "[en, en]"}}),
            "test.yaml:1:27: model.languages: each language must have a different name");
  EXPECT_EQ(refusal({{"preset", "xlm-mini"}, {"feed_forward", "{width: 512}"}}),
            "test.yaml:1:49: model.feed_forward.width: 512, must be 4 * dim for xlm, 1024");
  EXPECT_EQ(refusal({{"preset", "xlm-mini"}, {"feed_forward", "{activation: silu}"}}),
            "test.yaml:1:54: model.feed_forward.activation: is not supported by xlm, allowed is "
            "gelu, relu");
  const auto base = configured({{"preset", "xlm-mini"}, {"languages", "[en, fr]"}});
  EXPECT_EQ(refusal({{"languages", "[en, sw]"}}, &base),
            "test.yaml:1:9: model.languages: contradicts the model in init_from; omit it");
  EXPECT_EQ(configured({{"dropout", "0.2"}}, &base).xlm.languages, base.xlm.languages);
}

TEST(Xlm, EmbeddingsBeginWiderThanMatrices) {
  auto options = test::tiny_options(family_named("xlm"));
  options.vocabulary = 2000;
  options.dim = 64;
  options.width = 256;
  options.init_std = 0.02;
  options.xlm.embedding_init_std.reset();  // dim ^ -0.5
  options.pad_id = 2;
  const auto model = make_model(options, 5);
  const auto parameters = model->named_parameters();
  const auto word = parameters["embeddings.word.weight"].detach();
  EXPECT_NEAR(word.std().item<double>(), 0.125, 1e-3);
  EXPECT_TRUE((word[2] == 0).all().item<bool>());
  EXPECT_NEAR(parameters["embeddings.position.weight"].std().item<double>(), 0.125, 0.02);
  EXPECT_NEAR(parameters["embeddings.segment.weight"].std().item<double>(), 0.125, 0.03);
  EXPECT_NEAR(parameters["layers.0.feed_forward.up.weight"].std().item<double>(), 0.02, 1e-3);
}

at::Tensor hidden(Model& model, const at::Tensor& types, const nn::ForwardContext& context) {
  const at::NoGradGuard guard;
  return model.hidden({.ids = at::arange(6, at::kLong) + 3, .types = types}, context);
}

TEST(Xlm, UnspecifiedLanguagesAddNothing) {
  const auto model = make_model(test::tiny_options(family_named("xlm")), 5);
  const auto context = test::context_of({0, 4, 6});
  const auto untold = hidden(*model, {}, context);
  const auto german = hidden(*model, at::zeros({6}, at::kLong), context);
  EXPECT_FALSE(test::near(untold, german));
  const at::NoGradGuard guard;
  model->named_parameters()["embeddings.segment.weight"].zero_();
  EXPECT_TRUE(test::near(hidden(*model, at::ones({6}, at::kLong), context), untold));
}

TEST(Xlm, RestartedPositionsUseTheFirstRows) {
  const auto model = make_model(test::tiny_options(family_named("xlm")), 5);
  auto context = test::context_of({0, 6});
  const auto types = at::zeros({6}, at::kLong);
  const auto whole = hidden(*model, types, context);
  context.layout = context.layout.with_positions({0, 1, 2, 0, 1, 2});
  const auto halves = hidden(*model, types, context);
  EXPECT_FALSE(test::near(whole, halves));
  const at::NoGradGuard guard;  // the same where the table says the same at 3 to 5 as at 0 to 2
  auto table = model->named_parameters()["embeddings.position.weight"];
  table.slice(0, 3, 6).copy_(table.slice(0, 0, 3));
  EXPECT_TRUE(test::near(hidden(*model, types, test::context_of({0, 6})), halves));
}

}  // namespace
}  // namespace weft::models
