#include "models/adapters/lora.h"

#include <map>
#include <set>
#include <string>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "formats/json.h"
#include "models/config/presets.h"
#include "models/tiny.h"
#include "models/weights/tensors.h"
#include "models/weights/weight_map.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensor_file.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

using test::Tensors;

/// A base with the adapter that PEFT saved for it, as scripts/make_adapter_reference.py wrote them.
class Adapter : public ::testing::TestWithParam<std::string> {
 protected:
  Adapter()
      : path(std::string(WEFT_SOURCE_DIR) + "/tests/reference/adapters/" + GetParam()),
        adapter(test::read_tensors(path + "/adapter/adapter_model.safetensors")),
        outputs(test::read_tensors(path + "/outputs.safetensors")) {
    const auto json = formats::read_json(path + "/adapter/adapter_config.json");
    lora.options.rank = json.at("r").get<int64_t>();
    lora.options.alpha = json.at("lora_alpha").get<double>();
    lora.options.targets = json.at("target_modules").get<std::vector<std::string>>();
    lora.base = "base";
    auto options = read_model_config(path + "/base");
    options.head = Head::kSequence;
    options.labels = {"LABEL_0", "LABEL_1", "LABEL_2"};
    options.dropout = 0;
    options.attention_dropout = 0;
    options.classifier_dropout = 0;
    auto loaded = load_model(path + "/base", options, 1);
    model = loaded.model;
    lora.layers = lora_layers(options, lora.options);
    lora.modules_to_save = modules_to_save_of(options, lora.options, {});
    attach_lora(*model, lora, 1);
    take_adapter();
  }

  /// Our parameter that a tensor of the adapter file is, or a part of.
  at::Tensor parameter(const std::string& name,
                       const torch::OrderedDict<std::string, at::Tensor>& all) {
    const auto stored = name.substr(std::string("base_model.model.").size());
    for (const auto& layer : lora.layers) {
      if (stored == layer.module + ".lora_A.weight") {
        return all[layer.a()];
      }
      if (stored == layer.module + ".lora_B.weight") {
        return all[layer.b()];
      }
    }
    for (const auto& tensor : weight_map(model->options())) {
      if (tensor.name == stored) {
        return all[tensor.parameter];
      }
    }
    ADD_FAILURE() << name << " is no parameter";
    return {};
  }

  /// A tensor of the adapter file in the order of our rows.
  at::Tensor ordered(const std::string& name, const at::Tensor& tensor) const {
    for (const auto& layer : lora.layers) {
      if (name.ends_with(layer.module + ".lora_B.weight")) {
        return deinterleave_heads(tensor, layer.interleaved_heads);
      }
    }
    return tensor;
  }

  void take_adapter() {
    const at::NoGradGuard guard;
    const auto all = model->named_parameters();
    for (const auto& [name, tensor] : adapter) {
      parameter(name, all).copy_(ordered(name, tensor));
    }
  }

  at::Tensor logits() {
    std::vector<int64_t> offsets = {0};
    std::vector<at::Tensor> ids;
    for (int64_t i = 0; i < outputs["input_ids"].size(0); ++i) {
      const auto count = outputs["attention_mask"][i].sum().item<int64_t>();
      ids.push_back(outputs["input_ids"][i].slice(0, 0, count));
      offsets.push_back(offsets.back() + count);
    }
    const auto context = test::context_of(offsets);
    return model->class_logits(model->hidden({.ids = at::cat(ids), .types = {}}, context), context);
  }

  ParameterSource weights() const {
    const auto all = model->named_parameters();
    return [all](const std::string& name) { return all[name].detach(); };
  }

  std::string path;
  Tensors adapter;
  Tensors outputs;
  Lora lora;
  std::shared_ptr<Model> model;
};

TEST_P(Adapter, LogitsAndGradientsEqualPeft) {
  const auto found = logits();
  EXPECT_TRUE(test::near(found, outputs["logits"], 1e-5));
  const auto targets = at::tensor(std::vector<int64_t>{0, 2, 1});
  at::cross_entropy_loss(found, targets).backward();
  const auto all = model->named_parameters();
  std::size_t compared = 0;
  for (const auto& [name, tensor] : outputs) {
    if (name.starts_with("gradient.")) {
      const auto gradient = parameter(name.substr(9), all).grad();
      ASSERT_TRUE(gradient.defined()) << name;
      EXPECT_TRUE(test::near(gradient, ordered(name, tensor), 1e-5)) << name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, adapter.size());
  for (const auto& item : all) {
    if (!item.value().requires_grad()) {
      EXPECT_FALSE(item.value().grad().defined()) << item.key();
    }
  }
}

TEST_P(Adapter, MergedWeightsEqualPeft) {
  test::Folder folder;
  save_model(folder.path(), *model, formats::DType::kF32, merged(lora, weights()));
  const auto stored = test::read_tensors(folder.path("model.safetensors"));
  for (const auto& [name, tensor] : outputs) {
    if (name.starts_with("merged.")) {
      EXPECT_TRUE(test::near(stored.at(name.substr(7)), tensor, 1e-6)) << name;
    }
  }
  for (const auto& [name, tensor] : stored) {
    EXPECT_EQ(name.find("lora"), std::string::npos) << name;
  }
  model = load_model(folder.path(), read_model_config(folder.path()), 0).model;
  EXPECT_TRUE(test::near(logits(), outputs["logits"], 1e-5));
}

TEST_P(Adapter, IsSavedInPeftsLayout) {
  test::Folder folder;
  save_adapter(folder.path(), model->options(), lora, weights());
  const auto found = test::read_tensors(folder.path("adapter_model.safetensors"));
  ASSERT_EQ(found.size(), adapter.size());
  for (const auto& [name, tensor] : adapter) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_TRUE(at::equal(found.at(name), tensor)) << name;
  }
  const auto ours = formats::read_json(folder.path("adapter_config.json"));
  const auto theirs = formats::read_json(path + "/adapter/adapter_config.json");
  for (const auto* key : {"peft_type", "task_type", "base_model_name_or_path", "r", "lora_dropout",
                          "bias", "fan_in_fan_out", "use_rslora", "use_dora"}) {
    EXPECT_EQ(ours.at(key), theirs.at(key)) << key;
  }
  EXPECT_EQ(ours.at("lora_alpha").get<double>(), theirs.at("lora_alpha").get<double>());
  EXPECT_EQ(ours.at("target_modules"), theirs.at("target_modules"));
}

TEST_P(Adapter, StateComesBackToTheBit) {
  test::Folder folder;
  const auto before = logits();
  save_lora_state(folder.path("state"), lora, weights());
  for (auto& parameter : model->named_parameters()) {
    if (parameter.key().find("lora_") != std::string::npos) {
      const at::NoGradGuard guard;
      parameter.value().zero_();
    }
  }
  EXPECT_FALSE(at::equal(logits(), before));
  load_lora_state(folder.path("state"), *model, lora);
  EXPECT_TRUE(at::equal(logits(), before));
  EXPECT_EQ(read_modules_to_save(folder.path("state")), lora.modules_to_save);
}

INSTANTIATE_TEST_SUITE_P(Lora,
                         Adapter,
                         ::testing::Values("bert", "roberta", "distilbert", "gpt_neox"),
                         [](const auto& tested) { return tested.param; });

ModelOptions lora_tiny() { return test::tiny_options(family_named("bert"), Head::kSequence); }

Lora tiny_lora(LoraOptions options = {.rank = 2}) {
  Lora lora{.options = options, .layers = {}, .modules_to_save = {}, .base = ""};
  lora.layers = lora_layers(lora_tiny(), options);
  lora.modules_to_save = modules_to_save_of(lora_tiny(), options, {});
  return lora;
}

TEST(Lora, IsTheIdentityAtInitialisation) {
  const auto plain = make_model(lora_tiny(), 3);
  const auto carrying = make_model(lora_tiny(), 3);
  attach_lora(*carrying, tiny_lora(), 5);
  const TextInput input{.ids = at::tensor(std::vector<int64_t>{2, 5, 6, 3}), .types = {}};
  const auto context = test::context_of({0, 4});
  EXPECT_TRUE(at::equal(carrying->hidden(input, context), plain->hidden(input, context)));
}

TEST(Lora, AdaptersAreInitialisedAsInPeft) {
  const auto model = make_model(lora_tiny(), 3);
  const auto again = make_model(lora_tiny(), 3);
  const auto lora = tiny_lora({.rank = 4});
  attach_lora(*model, lora, 5);
  attach_lora(*again, lora, 5);
  const auto parameters = model->named_parameters();
  for (const auto& layer : lora.layers) {
    const auto a = parameters[layer.a()];
    EXPECT_EQ(a.sizes(), (std::vector<int64_t>{4, 8}));
    EXPECT_LE(a.abs().max().item<double>(), 1 / std::sqrt(8.0));
    EXPECT_GT(a.abs().max().item<double>(), 0.8 / std::sqrt(8.0));
    EXPECT_TRUE(at::equal(a, again->named_parameters()[layer.a()]));
    EXPECT_EQ(parameters[layer.b()].abs().max().item<double>(), 0);
  }
  EXPECT_FALSE(at::equal(parameters[lora.layers[0].a()], parameters[lora.layers[1].a()]));
}

TEST(Lora, TrainsAdaptersAndHeadAlone) {
  const auto model = make_model(lora_tiny(), 3);
  attach_lora(*model, tiny_lora(), 5);
  std::set<std::string> trained;
  for (const auto& parameter : model->named_parameters()) {
    if (parameter.value().requires_grad()) {
      trained.insert(parameter.key());
    }
  }
  EXPECT_EQ(trained,
            (std::set<std::string>{
                "layers.0.attention.qkv.lora_a_query", "layers.0.attention.qkv.lora_b_query",
                "layers.0.attention.qkv.lora_a_value", "layers.0.attention.qkv.lora_b_value",
                "layers.1.attention.qkv.lora_a_query", "layers.1.attention.qkv.lora_b_query",
                "layers.1.attention.qkv.lora_a_value", "layers.1.attention.qkv.lora_b_value",
                "head.output.weight", "head.output.bias"}));
}

TEST(Lora, PartsWithoutWeightsAreTrainedWhole) {
  EXPECT_EQ(
      modules_to_save_of(lora_tiny(), {.rank = 1, .modules_to_save = {}}, {"pooler.dense.weight"}),
      std::set<Part>{Part::kPooler});
  EXPECT_EQ(modules_to_save_of(lora_tiny(), {.rank = 1, .modules_to_save = {"head", "pooler"}}, {}),
            (std::set<Part>{Part::kPooler, Part::kHead}));
  const auto guessing = test::tiny_options();
  EXPECT_TRUE(modules_to_save_of(guessing, {.rank = 1}, {}).empty());
  EXPECT_THROW(modules_to_save_of(guessing, {.rank = 1}, {"head.bias"}), std::invalid_argument);
}

TEST(Lora, TargetsAreEndsOfNames) {
  const auto chosen = [](std::vector<std::string> targets) {
    std::vector<std::string> modules;
    for (const auto& layer : lora_layers(lora_tiny(), {.rank = 1, .targets = std::move(targets)})) {
      if (layer.module.starts_with("bert.encoder.layer.1.")) {
        modules.push_back(layer.module.substr(std::string("bert.encoder.layer.1.").size()));
      }
    }
    return modules;
  };
  EXPECT_EQ(chosen({}), (std::vector<std::string>{"attention.self.query", "attention.self.value"}));
  EXPECT_EQ(chosen({"attention.output.dense"}),
            (std::vector<std::string>{"attention.output.dense"}));
  EXPECT_EQ(chosen({"dense"}), (std::vector<std::string>{"attention.output.dense",
                                                         "intermediate.dense", "output.dense"}));
  EXPECT_EQ(chosen({"all-linear"}).size(), 6U);
  EXPECT_EQ(test::message_of<std::invalid_argument>([&] { chosen({"queri"}); }),
            "'queri' is not one of all-linear, query, key, value, dense; did you mean 'query'?");
}

TEST(Lora, LayersThatPeftWouldFindElsewhereAreNamedWhole) {
  const auto model = make_model(lora_tiny(), 3);
  const auto lora = tiny_lora({.rank = 2, .targets = {"dense"}});  // the pooler has a dense too
  attach_lora(*model, lora, 5);
  test::Folder folder;
  const auto all = model->named_parameters();
  save_adapter(folder.path(), model->options(), lora,
               [&](const std::string& name) { return all[name].detach(); });
  const auto json = formats::read_json(folder.path("adapter_config.json"));
  EXPECT_EQ(json.at("target_modules").size(), 6U);
  EXPECT_EQ(json.at("target_modules")[0], "bert.encoder.layer.0.attention.output.dense");
}

TEST(Lora, OptionsAreReadAndCheckedAgainstEachOther) {
  const auto options = read_lora_options(test::section(
      "train.lora", {{"rank", "4"}, {"target_modules", "[key]"}, {"modules_to_save", "[]"}}));
  ASSERT_TRUE(options);
  EXPECT_EQ(options->scale(), 4);
  EXPECT_EQ(options->targets, std::vector<std::string>{"key"});
  EXPECT_TRUE(options->modules_to_save.empty());
  EXPECT_FALSE(read_lora_options(test::section("train.lora", {{"rank", "null"}})));
  EXPECT_EQ(test::message_of<config::Error>([&] {
              read_lora_options(test::section("train.lora", {{"alpha", "3"}}));
            }).substr(0, 12),
            "test.yaml:1:");
  EXPECT_NE(test::message_of<config::Error>([&] {
              read_lora_options(
                  test::section("train.lora", {{"rank", "2"}, {"modules_to_save", "[body]"}}));
            }).find("'body' is not one of head, pooler"),
            std::string::npos);
}

// Files of vision models have names that no module of transformers 5 has.
TEST(LoraSites, AreModulesNotNamesOfFiles) {
  auto model = family_defaults(family_named("vit"));
  model.head = Head::kImage;
  const auto sites = lora_layers(model, {});
  ASSERT_EQ(sites.size(), 24U);
  EXPECT_EQ(sites[0].module, "vit.layers.0.attention.q_proj");
  EXPECT_EQ(sites[1].module, "vit.layers.0.attention.v_proj");
  EXPECT_EQ(sites[1].linear, "layers.0.attention.qkv");
}

}  // namespace
}  // namespace weft::models
