#include <set>

#include <gtest/gtest.h>

#include "models/config/config_json.h"
#include "models/config/family.h"
#include "models/config/presets.h"
#include "models/directory.h"
#include "models/tiny.h"
#include "models/weights/weight_map.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

using ModernKeys = std::vector<std::pair<std::string, std::string>>;

ModelOptions read_modernbert(const ModernKeys& keys, const ModelOptions* base = nullptr) {
  auto section = test::section("model", keys);
  return read_model_options(section, base);
}

std::string modern_message(const ModernKeys& keys, const ModelOptions* base = nullptr) {
  return test::message_of<config::Error>([&] { read_modernbert(keys, base); });
}

ModelOptions modern_tiny(Head head = Head::kMaskedLm) {
  return test::tiny_options(family_named("modernbert"), head);
}

formats::Json json_of(const ModelOptions& options) {
  return json_from_options(options, formats::DType::kF32);
}

TEST(ModernOptions, PresetsHaveThePublishedSizes) {
  const auto base = read_modernbert({{"preset", "modernbert-base"}});
  EXPECT_EQ(base.layers, 22);
  EXPECT_EQ(base.dim, 768);
  EXPECT_EQ(base.width, 1152);
  EXPECT_EQ(base.length, 8192);
  EXPECT_EQ(base.window.size, 128);
  EXPECT_TRUE(is_global_attention_layer(base, 0) && !is_global_attention_layer(base, 1) &&
              !is_global_attention_layer(base, 2) && is_global_attention_layer(base, 3));
  const auto large = read_modernbert({{"preset", "modernbert-large"}});
  EXPECT_EQ(large.layers, 28);
  EXPECT_EQ(large.heads, 16);
  EXPECT_EQ(large.width, 2624);
}

TEST(ModernOptions, ThePublishedModelsHaveThePublishedParameters) {
  for (const auto& [name, expected] : {std::pair{"modernbert-base", int64_t{149'014'272}},
                                       std::pair{"modernbert-large", int64_t{394'781'696}}}) {
    auto options = read_modernbert({{"preset", name}});
    options.vocabulary = 50368;
    int64_t total = 0;
    for (const auto& tensor : weight_map(options)) {
      int64_t count = 1;
      for (const auto size : tensor.shape) {
        count *= size;
      }
      total += count;
    }
    EXPECT_EQ(total, expected) << name;
  }
}

TEST(ModernOptions, KeysSetEveryPart) {
  const auto options = read_modernbert(
      {{"type", "modernbert"},
       {"dim", "64"},
       {"layers", "5"},
       {"attention",
        "{type: window, heads: 2, window: 16, global_attn_every_n_layers: 2, bias: true}"},
       {"position", "{type: rotary, length: 256, rope_theta: 5000, local_rope_theta: 300}"},
       {"feed_forward", "{bias: true, dropout: 0.3}"},
       {"norm", "{bias: true}"},
       {"classifier_pooling", "mean"},
       {"dropout", "0.2"}});
  EXPECT_EQ(options.width, 96);
  EXPECT_EQ(options.window.size, 16);
  EXPECT_TRUE(is_global_attention_layer(options, 2) && !is_global_attention_layer(options, 3));
  EXPECT_EQ(options.rope.theta, 5000);
  EXPECT_EQ(options.rope.local_theta, 300);
  EXPECT_TRUE(options.biases.attention && options.biases.feed_forward && options.biases.norm &&
              options.uses_mean_pooling);
  EXPECT_EQ(options.activation_dropout, 0.3);
  EXPECT_EQ(options.attention_dropout, 0.2);
  EXPECT_EQ(classifier_dropout(options), 0.2);
}

TEST(ModernOptions, FullAttentionIsAWindowNowhere) {
  const auto options = read_modernbert({{"type", "modernbert"}, {"attention", "{type: full}"}});
  EXPECT_TRUE(is_global_attention_layer(options, 1));
  EXPECT_NE(modern_message({{"type", "modernbert"},
                            {"attention", "{type: full, global_attn_every_n_layers: 3}"}})
                .find("model.attention.global_attn_every_n_layers: has no effect with type: full"),
            std::string::npos);
}

TEST(ModernOptions, WhatAFamilyHasNotIsRefused) {
  EXPECT_NE(modern_message({{"attention", "{type: windows}"}})
                .find("'windows' is not one of full, window"),
            std::string::npos);
  EXPECT_NE(modern_message({{"type", "modernbert"}, {"position", "{type: rotery}"}})
                .find("'rotery' is not one of rotary, learned"),
            std::string::npos);
  EXPECT_NE(modern_message({{"position", "{type: alibi, local_rope_theta: 5}"}})
                .find("model.position.local_rope_theta"),
            std::string::npos);
  EXPECT_NE(modern_message({{"type", "modernbert"}, {"norm", "{place: post}"}})
                .find("'post' is not one of pre"),
            std::string::npos);
  EXPECT_NE(modern_message({{"attention", "{window: 64}"}}).find("model.attention.window"),
            std::string::npos);
  EXPECT_NE(modern_message({{"type", "modernbert"}, {"position", "{sinusoidal_init: true}"}})
                .find("model.position.sinusoidal_init: has no effect here"),
            std::string::npos);
  EXPECT_NE(modern_message({{"type", "modernbert"}, {"dim", "12"}, {"attention", "{heads: 4}"}})
                .find("rotary position embeddings need an even head size"),
            std::string::npos);
}

TEST(ModernOptions, InitFromKeepsOptionsTiedToTheWeights) {
  const auto base = presets().back().options;
  for (const auto& [key, value] : ModernKeys{{"attention", "{window: 64}"},
                                             {"attention", "{global_attn_every_n_layers: 2}"},
                                             {"attention", "{type: full}"},
                                             {"position", "{rope_theta: 5}"},
                                             {"norm", "{bias: true}"}}) {
    auto modern = family_defaults(family_named("modernbert"));
    EXPECT_NE(modern_message({{key, value}}, &modern).find("contradicts"), std::string::npos)
        << value;
  }
  auto modern = family_defaults(family_named("modernbert"));
  EXPECT_TRUE(read_modernbert({{"classifier_pooling", "mean"}}, &modern).uses_mean_pooling);
}

TEST(ModernOptions, TheResolvedSectionReadsBackToTheSame) {
  const auto first = config::Document::parse(
      "model: {preset: modernbert-base, layers: 4, attention: {global_attn_every_n_layers: 2, "
      "window: 10}, "
      "classifier_pooling: mean}\n",
      "test.yaml");
  auto section = first.root().section("model", {.help = "The model."});
  auto options = read_model_options(section);
  const auto second = config::Document::parse(first.resolved(), "resolved.yaml");
  auto again_section = second.root().section("model", {.help = "The model."});
  auto again = read_model_options(again_section);
  options.vocabulary = again.vocabulary = 100;
  EXPECT_EQ(json_of(again), json_of(options));
}

TEST(ModernJson, WhatIsWrittenReadsBack) {
  auto options = modern_tiny();
  options.rope.theta = 77;
  options.uses_mean_pooling = true;
  options.biases.norm = true;
  options.activation_dropout = 0.25;
  options.window.global_layers = {false, true};
  options.bos_id = 2;
  const auto json = json_of(options);
  EXPECT_EQ(json_of(options_from_json(json, "config.json")), json);
  EXPECT_EQ(json["layer_types"][0], "sliding_attention");
  EXPECT_EQ(json["rope_parameters"]["full_attention"]["rope_theta"], 77.0);
  EXPECT_EQ(json["cls_token_id"], 2);
  EXPECT_FALSE(json.contains("global_attn_every_n_layers"));
}

TEST(ModernJson, TheSpellingOfTransformersFourIsRead) {
  const formats::Json json = {{"architectures", {"ModernBertForMaskedLM"}},
                              {"model_type", "modernbert"},
                              {"vocab_size", 50368},
                              {"num_hidden_layers", 5},
                              {"global_attn_every_n_layers", 2},
                              {"global_rope_theta", 5000.0},
                              {"local_rope_theta", nullptr},
                              {"local_attention", 32},
                              {"position_embedding_type", "absolute"},
                              {"norm_eps", 1e-6},
                              {"layer_norm_eps", 1e-3},
                              {"hidden_activation", "gelu"}};
  const auto options = options_from_json(json, "config.json");
  EXPECT_TRUE(is_global_attention_layer(options, 2) && !is_global_attention_layer(options, 3));
  EXPECT_EQ(options.rope.theta, 5000);
  EXPECT_EQ(options.rope.local_theta, 5000);
  EXPECT_EQ(options.window.size, 32);
  EXPECT_EQ(options.norm_epsilon, 1e-6);
  EXPECT_EQ(options.width, 1152);
  EXPECT_EQ(options.eos_id, 50282);
}

TEST(ModernJson, LayerListIsConvertedToARule) {
  auto json = json_of(modern_tiny());
  json.erase("global_attn_every_n_layers");
  const auto options = options_from_json(json, "config.json");
  EXPECT_TRUE(options.window.global_layers.empty());
  EXPECT_EQ(options.window.global_every, 2);
}

TEST(ModernJson, WhatIsNotComputedIsRefused) {
  const auto wrong = [](const std::string& key, const formats::Json& value) {
    auto json = json_of(modern_tiny());
    json[key] = value;
    return test::message_of<formats::Error>([&] { options_from_json(json, "config.json"); });
  };
  const formats::Json yarn = {{"full_attention", {{"rope_type", "yarn"}, {"rope_theta", 1e4}}}};
  for (const auto& [key, value] : std::vector<std::pair<std::string, formats::Json>>{
           {"rope_parameters", yarn},
           {"rope_parameters", {{"full_attention", {{"rope_theta", -1}}}}},
           {"rope_parameters", 7},
           {"rope_scaling", {{"type", "linear"}}},
           {"layer_types", {"full_attention"}},
           {"layer_types", {"full_attention", "chunked_attention"}},
           {"classifier_pooling", "max"},
           {"classifier_activation", "mish"},
           {"local_attention", 0},
           {"num_attention_heads", 8}}) {
    EXPECT_NE(wrong(key, value).find("config.json: " + key), std::string::npos)
        << key << wrong(key, value);
  }
}

TEST(ModernNames, MatchTransformers) {
  std::set<std::string> names;
  for (const auto& tensor : weight_map(modern_tiny())) {
    names.insert(tensor.name);
  }
  EXPECT_EQ(names, (std::set<std::string>{
                       "model.embeddings.tok_embeddings.weight", "model.embeddings.norm.weight",
                       "model.layers.0.attn.Wqkv.weight", "model.layers.0.attn.Wo.weight",
                       "model.layers.0.mlp_norm.weight", "model.layers.0.mlp.Wi.weight",
                       "model.layers.0.mlp.Wo.weight", "model.layers.1.attn_norm.weight",
                       "model.layers.1.attn.Wqkv.weight", "model.layers.1.attn.Wo.weight",
                       "model.layers.1.mlp_norm.weight", "model.layers.1.mlp.Wi.weight",
                       "model.layers.1.mlp.Wo.weight", "model.final_norm.weight",
                       "head.dense.weight", "head.norm.weight", "decoder.bias"}));
}

TEST(ModernNames, CoverTheParametersWhateverTheBiases) {
  for (const auto head :
       {Head::kNone, Head::kMaskedLm, Head::kSequence, Head::kToken, Head::kSpan}) {
    for (const bool has_biases : {false, true}) {
      auto options = modern_tiny(head);
      options.tie_word_embeddings = has_biases;
      options.biases.attention = options.biases.feed_forward = options.biases.norm = has_biases;
      options.biases.head = options.biases.mlm_output = has_biases;
      const auto model = make_model(options, 1);
      std::set<std::string> expected;
      for (const auto& item : model->named_parameters()) {
        expected.insert(item.key());
      }
      std::set<std::string> found;
      for (const auto& tensor : weight_map(options)) {
        found.insert(tensor.parameter);
        EXPECT_EQ(model->named_parameters()[tensor.parameter].sizes().vec(), tensor.shape);
      }
      EXPECT_EQ(found, expected) << architecture_of(options) << has_biases;
    }
  }
}

TEST(ModernBert, AClassifierKeepsTheTransformOfTheHeadBefore) {
  const test::Folder folder;
  const auto guesser = make_model(modern_tiny(), 1);
  test::fill_parameters(*guesser);
  save_model(folder.path(""), *guesser, formats::DType::kF32);
  const auto loaded = load_model(folder.path(""), modern_tiny(Head::kSequence), 2);
  EXPECT_EQ(loaded.missing_keys,
            (std::vector<std::string>{"head.output.bias", "head.output.weight"}));
  EXPECT_TRUE(test::near(loaded.model->named_parameters()["head.dense.weight"],
                         guesser->named_parameters()["head.dense.weight"], 0));
}

TEST(ModernBert, ResultsDoNotDependOnOtherSequencesInTheBatch) {
  auto options = modern_tiny(Head::kSequence);
  options.uses_mean_pooling = true;
  const auto model = make_model(options, 3);
  test::fill_parameters(*model);
  const auto logits = [&](const std::vector<int64_t>& ids, std::vector<int64_t> offsets) {
    const auto context = test::context_of(std::move(offsets));
    const TextInput input{.ids = at::tensor(ids, at::kLong), .types = {}};
    return model->class_logits(model->hidden(input, context), context);
  };
  const auto together = logits({2, 5, 9, 3, 8, 8, 2, 7, 3}, {0, 6, 9});
  EXPECT_TRUE(test::near(together.slice(0, 1), logits({2, 7, 3}, {0, 3})));
  EXPECT_FALSE(test::near(together.slice(0, 1), logits({2, 7, 4}, {0, 3})));
}

TEST(ModernBert, SequencesMayNotBeLongerThanTheModelTakes) {
  const auto model = make_model(modern_tiny(), 3);
  const TextInput input{.ids = at::full({11}, 5, at::kLong), .types = {}};
  EXPECT_THROW(model->hidden(input, test::context_of({0, 11})), c10::Error);
}

TEST(ModernBert, InitialisesWithTruncatedNormalAndScalesResidualProjections) {
  auto options = modern_tiny(Head::kSequence);
  options.dim = 64;
  options.width = 96;
  options.layers = 8;
  options.init_std = 0.02;
  const auto parameters = make_model(options, 5)->named_parameters();
  const auto up = parameters["layers.1.feed_forward.up.weight"].detach();
  // A normal distribution truncated at two standard deviations has 0.88 of the standard deviation.
  EXPECT_NEAR(up.std().item<double>(), 0.02 * 0.88, 5e-4);
  EXPECT_LE(up.abs().max().item<double>(), 0.04);
  for (const auto* name : {"layers.1.feed_forward.down.weight", "layers.1.attention.output.weight",
                           "head.dense.weight"}) {
    EXPECT_NEAR(parameters[name].detach().std().item<double>(), 0.005 * 0.88, 3e-4) << name;
  }
  EXPECT_LE(parameters["head.output.weight"].detach().abs().max().item<double>(), 2 / 8.0);
}

}  // namespace
}  // namespace weft::models
