#include "models/causal_model.h"

#include <cmath>
#include <map>
#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "models/config/config_json.h"
#include "models/config/family_definition.h"
#include "models/directory.h"
#include "models/tiny.h"
#include "models/weights/initialize.h"
#include "nn/decoding_state.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

ModelOptions causal_tiny(Family family, Head head = Head::kCausalLm) {
  auto options = family_defaults(family);
  options.head = head;
  options.vocabulary = 20;
  options.dim = 8;
  options.layers = 2;
  options.heads = 4;
  options.width = 12;
  options.length = 40;
  options.init_std = 0.3;
  if (options.key_value_heads > 0) {
    options.key_value_heads = 2;
  }
  options.head_dim = family == family_named("llama") ? 6 : 0;
  options.window.size = family == family_named("mistral") ? 3 : 0;
  if (family == family_named("gpt_neox")) {
    options.heads = 2;
    options.rope.partial_factor = 0.5;
  }
  if (head == Head::kSequence || head == Head::kToken) {
    options.labels = {"no", "perhaps", "yes"};
  }
  return options;
}

const std::vector<Family> kCausalFamilies = {family_named("gpt2"), family_named("llama"),
                                             family_named("mistral"), family_named("qwen2"),
                                             family_named("gpt_neox")};

TextInput causal_ids(int64_t count) {
  return {.ids = (at::arange(count, at::kLong) * 7 + 3).remainder(20), .types = {}};
}

int64_t causal_parameters_of(const Preset& preset, int64_t vocabulary) {
  auto options = preset.options;
  options.head = Head::kCausalLm;
  options.vocabulary = vocabulary;
  int64_t count = 0;
  for (const auto& tensor : weight_map(options)) {
    int64_t size = 1;
    for (const auto side : tensor.shape) {
      size *= side;
    }
    count += size;
  }
  return count;
}

TEST(CausalPresets, HaveThePublishedNumbersOfParameters) {
  const std::map<std::string_view, std::pair<int64_t, int64_t>> published = {
      {"gpt2", {50257, 124'439'808}},         {"gpt2-medium", {50257, 354'823'168}},
      {"gpt2-large", {50257, 774'030'080}},   {"gpt2-xl", {50257, 1'557'611'200}},
      {"smollm-135m", {49152, 134'515'008}},  {"tinyllama-1.1b", {32000, 1'100'048'384}},
      {"llama-2-7b", {32000, 6'738'415'616}}, {"llama-3.2-1b", {128256, 1'235'814'400}},
      {"mistral-7b", {32000, 7'241'732'096}}, {"qwen2-0.5b", {151936, 494'032'768}},
      {"pythia-70m", {50304, 70'426'624}},    {"pythia-160m", {50304, 162'322'944}}};
  std::size_t found = 0;
  for (const auto& preset : presets()) {
    const auto wanted = published.find(preset.name);
    if (wanted != published.end()) {
      ++found;
      EXPECT_EQ(causal_parameters_of(preset, wanted->second.first), wanted->second.second)
          << preset.name;
    }
  }
  EXPECT_EQ(found, published.size());
}

TEST(CausalModel, SelectedRowsEqualTheFullHiddenStates) {
  const auto context = test::context_of({0, 5, 6, 9});
  const auto selection = nn::RowSelection::from_rows({1, 4, 7}, context, 0);
  for (const auto family : kCausalFamilies) {
    const auto model = make_model(causal_tiny(family, Head::kSequence), 1);
    const auto all = model->hidden(causal_ids(9), context);
    EXPECT_TRUE(test::near(model->selected_hidden_states(causal_ids(9), context, selection),
                           selection.select(all)))
        << word_of(family);
    EXPECT_TRUE(
        test::near(model->classify(causal_ids(9), context), model->class_logits(all, context)))
        << word_of(family);
  }
}

TEST(CausalModel, FilesContainEveryParameterOnce) {
  for (const auto family : kCausalFamilies) {
    for (const auto head : {Head::kNone, Head::kCausalLm, Head::kSequence, Head::kToken}) {
      const auto options = causal_tiny(family, head);
      const auto model = make_model(options, 1);
      const auto parameters = model->named_parameters();
      std::map<std::string, int64_t> rows;
      for (const auto& tensor : weight_map(options)) {
        EXPECT_EQ(rows[tensor.parameter], tensor.first_row) << tensor.name;
        rows[tensor.parameter] += tensor.rows();
      }
      EXPECT_EQ(rows.size(), parameters.size()) << word_of(family);
      for (const auto& parameter : parameters) {
        EXPECT_EQ(rows[parameter.key()], parameter.value().size(0)) << parameter.key();
      }
    }
  }
}

TEST(CausalModel, WhatIsWrittenReadsBack) {
  for (const auto family : kCausalFamilies) {
    for (const auto head : {Head::kNone, Head::kCausalLm, Head::kSequence, Head::kToken}) {
      const auto options = causal_tiny(family, head);
      const auto model = make_model(options, 1);
      const test::Folder folder;
      save_model(folder.path(), *model, formats::DType::kF32);
      const auto read_causal = read_model_config(folder.path());
      EXPECT_EQ(read_causal.decoder, options.decoder) << word_of(family);
      EXPECT_EQ(read_causal.tie_word_embeddings, options.tie_word_embeddings);
      EXPECT_EQ(read_causal.length, options.length);
      EXPECT_EQ(std::filesystem::exists(folder.path("generation_config.json")),
                head == Head::kCausalLm);
      const auto again = load_model(folder.path(), read_causal, 2);
      EXPECT_TRUE(again.missing_keys.empty() && again.unexpected_keys.empty());
      for (const auto& parameter : model->named_parameters()) {
        EXPECT_TRUE(at::equal(parameter.value(), again.model->named_parameters()[parameter.key()]))
            << parameter.key();
      }
    }
  }
}

TEST(CausalModel, PromptAttentionIsStored) {
  const test::Folder folder;
  auto options = causal_tiny(family_named("gpt2"), Head::kCausalLm);
  for (const int64_t end : {-1, 3}) {
    options.is_prefix_lm = true;
    options.prefix_end_id = end;
    save_model(folder.path(), *make_model(options, 1), formats::DType::kF32);
    EXPECT_EQ(read_model_config(folder.path()).decoder, options.decoder);
    options.is_prefix_lm = false;
    options.prefix_end_id = -1;
    save_model(folder.path(), *make_model(options, 1), formats::DType::kF32);
    EXPECT_EQ(read_model_config(folder.path()).decoder, options.decoder);
  }
}

TEST(CausalModel, DoesNotAttendToLaterTokens) {
  for (const auto family : kCausalFamilies) {
    const auto model = make_model(causal_tiny(family), 1);
    const auto input = causal_ids(9);
    auto edited = input;
    edited.ids = input.ids.clone();
    edited.ids[4] = 19;
    const auto before = model->hidden(input, test::context_of({0, 7, 9}));
    const auto after = model->hidden(edited, test::context_of({0, 7, 9}));
    EXPECT_TRUE(at::equal(before.slice(0, 0, 4), after.slice(0, 0, 4))) << word_of(family);
    EXPECT_TRUE(at::equal(before.slice(0, 7), after.slice(0, 7))) << word_of(family);
    EXPECT_FALSE(test::near(before[5], after[5])) << word_of(family);
  }
}

TEST(CausalModel, CachedContinuationEqualsFullComputation) {
  const at::NoGradGuard no_grad;
  for (const auto family : kCausalFamilies) {
    const auto model = make_model(causal_tiny(family), 1);
    const auto input = causal_ids(12);
    const auto expected = model->hidden(input, test::context_of({0, 12}));
    nn::DecodingState state(1);
    nn::ForwardContext context;
    context.decoding_state = &state;
    context.layout = state.begin_step({5}, at::kCPU);
    model->hidden({.ids = input.ids.slice(0, 0, 5), .types = {}}, context);
    for (int64_t i = 5; i < 12; ++i) {
      context.layout = state.begin_step({1}, at::kCPU);
      const auto step = model->hidden({.ids = input.ids.slice(0, i, i + 1), .types = {}}, context);
      EXPECT_TRUE(test::near(step[0], expected[i])) << word_of(family) << " " << i;
    }
  }
}

TEST(CausalModel, ALongerTextThanThePositionsIsRefusedWithACacheToo) {
  const at::NoGradGuard no_grad;
  const auto model = make_model(causal_tiny(family_named("gpt2")), 1);
  nn::DecodingState state(1);
  nn::ForwardContext context;
  context.decoding_state = &state;
  context.layout = state.begin_step({40}, at::kCPU);
  model->hidden(causal_ids(40), context);
  context.layout = state.begin_step({1}, at::kCPU);
  EXPECT_THROW(model->hidden(causal_ids(1), context), c10::Error);
}

TEST(CausalModel, ClassifiesByTheLastToken) {
  const auto model = make_model(causal_tiny(family_named("gpt2"), Head::kSequence), 1);
  const auto context = test::context_of({0, 7, 9});
  const auto hidden = model->hidden(causal_ids(9), context);
  const auto logits = model->class_logits(hidden, context);
  const auto weight = model->named_parameters()["head.weight"];
  EXPECT_TRUE(test::near(logits[0], at::mv(weight, hidden[6])));
  EXPECT_TRUE(test::near(logits[1], at::mv(weight, hidden[8])));
  EXPECT_THROW(model->token_features(hidden), c10::Error);
  EXPECT_THROW(model->encode({}, context), c10::Error);
}

// Radford et al. 2019, section 2.3: residual layers are initialised smaller by the square root of
// their number.
TEST(CausalModel, BeginsAsPublished) {
  auto options = causal_tiny(family_named("gpt2"));
  options.dim = 64;
  options.width = 256;
  options.layers = 8;
  options.init_std = 0.02;
  const auto model = make_model(options, 1);
  const auto parameters = model->named_parameters();
  const auto init_std = [&](const std::string& name) {
    return parameters[name].std().item<double>();
  };
  EXPECT_NEAR(init_std("layers.3.feed_forward.up.weight"), 0.02, 0.001);
  EXPECT_NEAR(init_std("layers.3.feed_forward.down.weight"), 0.02 / 4, 0.0003);
  EXPECT_NEAR(init_std("layers.3.attention.output.weight"), 0.02 / 4, 0.0003);
  EXPECT_EQ(parameters["layers.norm.weight"].min().item<float>(), 1.0F);
  EXPECT_EQ(parameters["layers.0.attention.qkv.bias"].abs().max().item<float>(), 0.0F);
}

TEST(CausalConfig, RefusesWhatIsNotComputed) {
  const auto refused = [](const std::string& type, const std::string& rest) {
    const auto json = formats::Json::parse("{\"model_type\": \"" + type + "\", " + rest + "}");
    return test::message_of<formats::Error>([&] { options_from_json(json, "config.json"); });
  };
  EXPECT_EQ(
      refused("llama", "\"rope_parameters\": {\"rope_type\": \"longrope\", \"factor\": 4.0}"),
      "config.json: rope_parameters: rope_type: found 'longrope', allowed is default, linear, "
      "dynamic, llama3, yarn");
  EXPECT_EQ(refused("qwen2",
                    "\"rope_parameters\": {\"rope_type\": \"yarn\", \"beta_fast\": 2, "
                    "\"beta_slow\": 2}"),
            "config.json: rope_parameters: beta_fast: must be above beta_slow");
  EXPECT_EQ(refused("llama", "\"rope_parameters\": {\"partial_rotary_factor\": 0.5}"),
            "config.json: partial_rotary_factor: must be 1: all features of a head are rotated");
  EXPECT_EQ(
      refused("gpt2", "\"add_cross_attention\": true"),
      "config.json: add_cross_attention: found true, allowed is false: this family has no encoder");
  EXPECT_EQ(refused("llama", "\"num_attention_heads\": 8, \"num_key_value_heads\": 3"),
            "config.json: num_key_value_heads: 3 does not divide num_attention_heads 8");
  EXPECT_EQ(refused("qwen2",
                    "\"num_hidden_layers\": 2, \"use_sliding_window\": true, "
                    "\"layer_types\": [\"sliding_attention\", \"full_attention\"]"),
            "config.json: layer_types: must be full_attention in the first layers and "
            "sliding_attention after them");
}

TEST(CausalConfig, RotaryPositionsOfBothTimesAreRead) {
  const auto read_causal = [](const std::string& rest) {
    return options_from_json(formats::Json::parse("{\"model_type\": \"llama\", " + rest + "}"),
                             "config.json");
  };
  const auto old = read_causal(
      "\"rope_theta\": 500000.0, \"rope_scaling\": {\"type\": \"linear\", \"factor\": 4.0}");
  EXPECT_EQ(old.rope.theta, 500000.0);
  EXPECT_EQ(old.rope.scaling.type, kernels::RotaryScalingType::kLinear);
  EXPECT_EQ(old.rope.scaling.factor, 4.0);
  const auto current = read_causal(
      "\"rope_parameters\": {\"rope_theta\": 1000.0, \"rope_type\": \"llama3\", \"factor\": 8.0, "
      "\"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
      "\"original_max_position_embeddings\": 8192}");
  EXPECT_EQ(current.rope.theta, 1000.0);
  EXPECT_EQ(current.rope.scaling.type, kernels::RotaryScalingType::kLlama3);
  EXPECT_EQ(current.rope.scaling.original_max_positions, 8192);
}

TEST(CausalConfig, YarnIsReadAndWritten) {
  const auto read_causal = [](const formats::Json& rope) {
    formats::Json json = {{"model_type", "qwen2"}, {"max_position_embeddings", 512}};
    json["rope_parameters"] = rope;
    return options_from_json(json, "config.json");
  };
  const auto plain = read_causal({{"rope_type", "yarn"}, {"factor", 4.0}});
  const auto& stretch = plain.rope.scaling;
  EXPECT_EQ(stretch.original_max_positions, 512);  // of max_position_embeddings
  EXPECT_EQ(stretch.low_frequency_factor, 1);
  EXPECT_EQ(stretch.high_frequency_factor, 32);
  EXPECT_TRUE(stretch.truncates);
  EXPECT_NEAR(stretch.attention_factor, 1.138629436111989, 1e-12);
  const auto full = read_causal({{"rope_type", "yarn"},
                                 {"factor", 4.0},
                                 {"beta_fast", 16},
                                 {"beta_slow", 2},
                                 {"truncate", false},
                                 {"mscale", 1.0},
                                 {"mscale_all_dim", 0.5},
                                 {"original_max_position_embeddings", 128}});
  EXPECT_NEAR(full.rope.scaling.attention_factor, 1.0648216253695715, 1e-12);
  const auto again =
      options_from_json(json_from_options(full, formats::DType::kF32), "config.json");
  const auto& kept = again.rope.scaling;
  EXPECT_EQ(kept.type, kernels::RotaryScalingType::kYarn);
  EXPECT_EQ(kept.factor, 4);
  EXPECT_EQ(kept.low_frequency_factor, 2);
  EXPECT_EQ(kept.high_frequency_factor, 16);
  EXPECT_EQ(kept.original_max_positions, 128);
  EXPECT_FALSE(kept.truncates);
  EXPECT_EQ(kept.attention_factor, full.rope.scaling.attention_factor);
}

ModelOptions read_causal(const std::string& yaml) {
  const auto document = config::Document::parse(yaml, "c.yaml");
  auto section = document.root();
  return read_model_options(section);
}

TEST(CausalKeys, AreReadAndChecked) {
  const auto options = read_causal(
      "type: llama\ndim: 96\nlayers: 3\nattention:\n  heads: 6\n  key_value_heads: 2\n"
      "position:\n  rope_theta: 5000\n  length: 64\nfeed_forward:\n  width: 100\n");
  EXPECT_EQ(options.family, family_named("llama"));
  EXPECT_EQ(key_value_heads(options), 2);
  EXPECT_EQ(head_dim(options), 16);
  EXPECT_EQ(options.rope.theta, 5000);
  const auto message = [](const std::string& yaml) {
    return test::message_of<config::Error>([&] { read_causal(yaml); });
  };
  EXPECT_NE(message("type: llama\nattention:\n  heads: 6\n  key_value_heads: 4\n  head_dim: 8\n")
                .find("key_value_heads: 4 does not divide heads 6"),
            std::string::npos);
  EXPECT_NE(message("type: gpt2\nattention:\n  window: 5\n").find("window"), std::string::npos);
  EXPECT_NE(message("preset: gpt2\ntype: llama\n").find("contradicts the preset 'gpt2'"),
            std::string::npos);
  EXPECT_EQ(read_causal("preset: gpt-mini\n").dim, 384);
}

TEST(CausalKeys, DefineTheFamilyOrAreRefused) {
  const auto message = [](const std::string& yaml) {
    return test::message_of<config::Error>([&] { read_causal(yaml); });
  };
  for (const std::string yaml : {"type: gpt2\nattention: {type: full}\nposition: {type: learned}\n"
                                 "norm: {type: layer, place: pre}\n",
                                 "type: llama\nattention: {type: full}\nposition: {type: rotary}\n"
                                 "norm: {type: rms, place: pre}\n"}) {
    EXPECT_EQ(read_causal(yaml).norm_placement, NormPlacement::kPre);
  }
  for (const std::string yaml :
       {"type: gpt2\nnorm: {type: rms}\n", "type: gpt2\nposition: {type: rotary}\n",
        "type: llama\nnorm: {type: layer}\n", "type: llama\nposition: {type: learned}\n"}) {
    EXPECT_FALSE(is_known_to_transformers(read_causal(yaml))) << yaml;
  }
  EXPECT_TRUE(is_known_to_transformers(read_causal("type: llama\nposition: {type: rotary}\n")));
  for (const std::string yaml :
       {"type: gpt2\nnorm: {type: rsm}\n", "type: gpt2\nposition: {type: rotated}\n",
        "type: llama\nnorm: {place: post}\n", "type: gpt2\nattention: {type: windows}\n"}) {
    EXPECT_NE(message(yaml).find("is not one of "), std::string::npos) << yaml;
  }
}

TEST(CausalKeys, WindowIsAnAttentionType) {
  const auto message = [](const std::string& yaml) {
    return test::message_of<config::Error>([&] { read_causal(yaml); });
  };
  const auto window = [](const std::string& keys) {
    return read_causal("type: mistral\nattention: {" + keys + "}\n").window.size;
  };
  EXPECT_EQ(window("window: 5"), 5);
  EXPECT_EQ(window("type: window, window: 5"), 5);
  EXPECT_EQ(window("type: full"), 0);
  EXPECT_NE(message("type: mistral\nattention: {type: full, window: 5}\n").find("has no effect"),
            std::string::npos);
}

TEST(PostNormGpt, EndsWithItsLastNormAndHasItsOwnModelType) {
  const auto options = [] {
    auto result =
        read_causal("preset: gpt-mini\nnorm: {place: post}\ndim: 8\nattention: {heads: 2}\n");
    result.vocabulary = 20;
    result.head = Head::kCausalLm;
    return result;
  }();
  EXPECT_FALSE(is_known_to_transformers(options));
  const auto again =
      options_from_json(json_from_options(options, formats::DType::kF32), "config.json");
  EXPECT_EQ(again.norm_placement, NormPlacement::kPost);
  EXPECT_EQ(again.family, family_named("gpt2"));
  for (const auto& tensor : weight_map(options)) {
    EXPECT_EQ(tensor.name.find("ln_f"), std::string::npos);
  }
  const auto model = make_model(options, 1);
  const auto hidden = model->hidden(causal_ids(9), test::context_of({0, 9}));
  // The last norm has weights of one: each row has a mean of 0 and a deviation of 1.
  EXPECT_TRUE(at::allclose(hidden.mean(1), at::zeros({9}), 0, 1e-5));
  EXPECT_TRUE(at::allclose(hidden.square().mean(1), at::ones({9}), 0, 1e-2));
}

}  // namespace
}  // namespace weft::models
