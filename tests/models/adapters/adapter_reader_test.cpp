#include "models/adapters/adapter_reader.h"

#include <filesystem>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "formats/error.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "models/adapters/lora.h"
#include "models/directory.h"
#include "models/tiny.h"
#include "models/weights/tensors.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

namespace fs = std::filesystem;

const std::string kAdapterReference = std::string(WEFT_SOURCE_DIR) + "/tests/reference/adapters/";

LoadedModel applied(const std::string& base, const std::string& adapter) {
  const auto options = adapter_options(adapter, read_model_config(base));
  auto loaded = load_model(base, options, 1);
  const auto whole = apply_adapter(adapter, *loaded.model);
  std::erase_if(loaded.missing_keys, [&](const auto& name) { return whole.contains(name); });
  return loaded;
}

class AdapterReader : public ::testing::TestWithParam<std::string> {};

// The file was computed by PEFT (scripts/make_adapter_reference.py).
TEST_P(AdapterReader, BaseWithAdapterGivesPeftsLogits) {
  const auto path = kAdapterReference + GetParam();
  const auto loaded = applied(path + "/base", path + "/adapter");
  EXPECT_TRUE(loaded.missing_keys.empty());
  EXPECT_EQ(loaded.model->options().labels.size(), 3U);
  const formats::SafetensorsFile file(path + "/outputs.safetensors");
  const auto ids = tensor_of(file.at("input_ids"));
  const auto expected = tensor_of(file.at("logits_merged"));
  const std::vector<int64_t> lengths = {6, 2, 4};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    const auto context = test::context_of({0, lengths[i]});
    const auto hidden =
        loaded.model->hidden({.ids = ids[row].slice(0, 0, lengths[i]), .types = {}}, context);
    EXPECT_TRUE(test::near(loaded.model->class_logits(hidden, context)[0], expected[row], 1e-5));
  }
}

INSTANTIATE_TEST_SUITE_P(Peft,
                         AdapterReader,
                         ::testing::Values("bert", "roberta", "distilbert", "gpt2", "gpt_neox"),
                         [](const auto& tested) { return tested.param; });

/// A copy of an adapter with a modifiable config.
struct Copy {
  Copy() { fs::copy(kAdapterReference + "bert/adapter", path()); }
  std::string path() const { return folder.path("adapter"); }
  void set(const std::string& key, const formats::Json& value) const {
    auto json = formats::read_json(path() + "/adapter_config.json");
    json[key] = value;
    folder.write("adapter/adapter_config.json", json.dump());
  }
  std::string error(const std::string& base = "bert/base") const {
    return test::message_of<formats::Error>([&] { applied(kAdapterReference + base, path()); });
  }
  test::Folder folder;
};

TEST(AdapterReader, KnowsWhatItReads) {
  EXPECT_TRUE(is_adapter_directory(kAdapterReference + "bert/adapter"));
  EXPECT_FALSE(is_adapter_directory(kAdapterReference + "bert/base"));
  EXPECT_EQ(adapter_base(kAdapterReference + "bert/adapter"), "base");
}

TEST(AdapterReader, RefusesOtherKindsOfAdapters) {
  const std::vector<std::pair<std::string, formats::Json>> changes = {
      {"use_dora", true},
      {"peft_type", "LOHA"},
      {"bias", "all"},
      {"alpha_pattern", {{"query", 4}}}};
  for (const auto& [key, value] : changes) {
    const Copy copy;
    copy.set(key, value);
    EXPECT_NE(copy.error().find("adapter_config.json: " + key + ": "), std::string::npos)
        << copy.error();
  }
}

// PEFT decides by the layer.
TEST(AdapterReader, SettingsOfTheStoredMatrixAreIgnored) {
  const auto base = kAdapterReference + "bert/base";
  const Copy copy;
  const auto plain = applied(base, copy.path()).model->named_parameters();
  copy.set("fan_in_fan_out", true);
  for (const auto& parameter : applied(base, copy.path()).model->named_parameters()) {
    EXPECT_TRUE(at::equal(parameter.value(), plain[parameter.key()])) << parameter.key();
  }
}

TEST(AdapterReader, RemembersHowPromptsAreSeen) {
  const test::Folder folder;
  auto options = read_model_config(kAdapterReference + "gpt2/base");
  options.head = Head::kCausalLm;
  options.is_prefix_lm = true;
  options.prefix_end_id = 3;
  const auto model = make_model(options, 1);
  Lora lora;
  lora.options.rank = 2;
  lora.layers = lora_layers(options, lora.options);
  attach_lora(*model, lora, 1);
  const auto all = model->named_parameters();
  save_adapter(folder.path(), options, lora, [&](const std::string& name) { return all[name]; });
  auto base = options;
  base.is_prefix_lm = false;
  base.prefix_end_id = -1;
  EXPECT_EQ(adapter_options(folder.path(), base).decoder, options.decoder);
}

TEST(AdapterReader, RefusesMatricesThatDoNotFit) {
  const std::string module = "base_model.model.bert.encoder.layer.0.attention.self.query";
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> shapes = {
      {{0, 8}, {8, 0}}, {{2, 8}, {8, 3}}, {{2, 7}, {8, 2}}, {{2, 8}, {7, 2}}, {{8}, {8, 1}}};
  for (const auto& [a, b] : shapes) {
    const Copy copy;
    const auto first = at::zeros(a);
    const auto second = at::zeros(b);
    formats::write_safetensors(
        copy.path() + "/adapter_model.safetensors",
        {{module + ".lora_A.weight", view_of(first)}, {module + ".lora_B.weight", view_of(second)}},
        {}, FileWriter::Mode::kPlain);
    EXPECT_NE(copy.error().find("do not match a layer of shape (8, 8)"), std::string::npos)
        << copy.error();
  }
}

TEST(AdapterReader, RefusesAnotherModelsLayers) {
  EXPECT_NE(Copy().error("roberta/base").find("the model has no such layer"), std::string::npos);
}

}  // namespace
}  // namespace weft::models
