#include "models/directory.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "formats/json.h"
#include "models/config/family.h"
#include "models/weights/tensors.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensor_file.h"
#include "support/tensors.h"
#include "tiny.h"

namespace weft::models {
namespace {

using test::Tensors;

bool are_equal(const Model& a, const Model& b) {
  for (const auto& item : a.named_parameters()) {
    if (!at::equal(item.value(), b.named_parameters()[item.key()])) {
      return false;
    }
  }
  return a.named_parameters().size() == b.named_parameters().size();
}

/// A folder with one saved model.
struct Saved {
  explicit Saved(const ModelOptions& options, formats::DType dtype = formats::DType::kF32)
      : model(make_model(options, 7)) {
    test::fill_parameters(*model);
    save_model(folder.path(), *model, dtype);
  }
  LoadedModel load() const {
    return load_model(folder.path(), read_model_config(folder.path()), 1);
  }
  std::string error() const {
    return test::message_of<formats::Error>([&] { load(); });
  }
  /// Rewrites the weights.
  template <class Edit>
  void edit(const Edit& change) const {
    auto tensors = test::read_tensors(folder.path("model.safetensors"));
    change(tensors);
    test::write_tensors(folder.path("model.safetensors"), tensors);
  }

  test::Folder folder;
  std::shared_ptr<Model> model;
};

TEST(ModelDirectory, WhatIsSavedLoadsBack) {
  for (const auto family : test::transformers()) {
    for (const auto& head_name : heads_of(family)) {
      for (const auto place : {NormPlacement::kPost, NormPlacement::kPre}) {
        if (!has_norm_placement(family, place)) {
          continue;
        }
        for (const bool is_tied : {true, false}) {
          auto options = test::tiny_options(family, head_name.head);
          options.norm_placement = place;
          options.tie_word_embeddings = is_tied;
          const Saved saved(options);
          const auto loaded = saved.load();
          EXPECT_TRUE(are_equal(*saved.model, *loaded.model)) << architecture_of(options);
          EXPECT_TRUE(loaded.missing_keys.empty());
          EXPECT_TRUE(loaded.unexpected_keys.empty());
        }
      }
    }
  }
}

TEST(ModelDirectory, TheConvolutionOfDebertaIsStoredUnderItsNames) {
  auto options = test::tiny_options(family_named("deberta-v2"));
  options.input_convolution = {.kernel = 5, .groups = 2, .activation = kernels::Activation::kGelu};
  const Saved saved(options);
  const auto tensors = test::read_tensors(saved.folder.path("model.safetensors"));
  EXPECT_EQ(tensors.at("deberta.encoder.conv.conv.weight").sizes(), at::IntArrayRef({8, 4, 5}));
  for (const std::string name : {"conv.bias", "LayerNorm.weight", "LayerNorm.bias"}) {
    EXPECT_EQ(tensors.at("deberta.encoder.conv." + name).sizes(), at::IntArrayRef({8})) << name;
  }
  const auto loaded = saved.load();
  EXPECT_EQ(loaded.model->options().input_convolution, options.input_convolution);
  EXPECT_TRUE(are_equal(*saved.model, *loaded.model));
}

TEST(ModelDirectory, DebertaStoresTheRowsOfAHeadTogetherAndNoBiasOfKeys) {
  const auto options = test::tiny_options(family_named("deberta"));  // 2 heads of 4 features
  const Saved saved(options);
  const auto tensors = test::read_tensors(saved.folder.path("model.safetensors"));
  const auto parameters = saved.model->named_parameters();
  const auto& ours = parameters["layers.1.attention.qkv.weight"];  // queries, keys, values
  const std::string name = "deberta.encoder.layer.1.attention.self.";
  const auto& stored = tensors.at(name + "in_proj.weight");
  for (int64_t head = 0; head < 2; ++head) {
    for (int64_t part = 0; part < 3; ++part) {
      EXPECT_TRUE(at::equal(stored.slice(0, 12 * head + 4 * part, 12 * head + 4 * part + 4),
                            ours.slice(0, 8 * part + 4 * head, 8 * part + 4 * head + 4)));
    }
  }
  const auto& bias = parameters["layers.1.attention.qkv.bias"];
  ASSERT_EQ(bias.size(0), 16);
  EXPECT_TRUE(at::equal(tensors.at(name + "q_bias"), bias.slice(0, 0, 8)));
  EXPECT_TRUE(at::equal(tensors.at(name + "v_bias"), bias.slice(0, 8)));
}

TEST(ModelDirectory, TiedMatricesAreNotStored) {
  const Saved saved(test::tiny_options());
  const auto tensors = test::read_tensors(saved.folder.path("model.safetensors"));
  EXPECT_FALSE(tensors.contains("cls.predictions.decoder.weight"));
  EXPECT_TRUE(tensors.contains("cls.predictions.bias"));
}

TEST(ModelDirectory, NarrowTypesAreReadAsFp32) {
  for (const auto dtype : {formats::DType::kBF16, formats::DType::kF16}) {
    const Saved saved(test::tiny_options(), dtype);
    const auto loaded = saved.load();
    const auto name = "embeddings.word.weight";
    const auto found = loaded.model->named_parameters()[name];
    EXPECT_EQ(found.scalar_type(), at::kFloat);
    EXPECT_TRUE(test::near(found, saved.model->named_parameters()[name], 2e-3));
  }
}

TEST(ModelDirectory, AParameterSourceIsWhatIsStored) {
  const Saved saved(test::tiny_options());
  save_model(saved.folder.path(), *saved.model, formats::DType::kF32, [&](const std::string& name) {
    return at::full_like(saved.model->named_parameters()[name], 2.5);
  });
  EXPECT_TRUE((saved.load().model->named_parameters()["layers.1.attention.qkv.weight"] == 2.5)
                  .all()
                  .item<bool>());
}

TEST(ModelDirectory, DifferentHeadIsInitialisedFromTheSeed) {
  const Saved saved(test::tiny_options());
  auto wanted = test::tiny_options(family_named("bert"), Head::kSequence);
  const auto load = [&](uint64_t seed) { return load_model(saved.folder.path(), wanted, seed); };
  const auto first = load(1);
  EXPECT_EQ(first.missing_keys,
            (std::vector<std::string>{"head.output.bias", "head.output.weight", "pooler.dense.bias",
                                      "pooler.dense.weight"}));
  EXPECT_FALSE(first.unexpected_keys.empty());
  EXPECT_TRUE(are_equal(*first.model, *load(1).model));
  EXPECT_FALSE(are_equal(*first.model, *load(2).model));
  const auto made = make_model(wanted, 1);
  EXPECT_TRUE(at::equal(made->named_parameters()["head.output.weight"],
                        first.model->named_parameters()["head.output.weight"]));
}

TEST(ModelDirectory, OtherClassesGetANewHeadOnTheOldPooler) {
  const Saved saved(test::tiny_options(family_named("bert"), Head::kSequence));
  auto wanted = saved.model->options();
  wanted.labels = {"ham", "spam"};
  const auto loaded = load_model(saved.folder.path(), wanted, 1);
  EXPECT_EQ(loaded.missing_keys,
            (std::vector<std::string>{"head.output.bias", "head.output.weight"}));
}

TEST(ModelDirectory, ANewHeadIsNotLoadedEvenIfItFits) {
  const Saved saved(test::tiny_options(family_named("bert"), Head::kSequence));
  const auto loaded = load_model(saved.folder.path(), saved.model->options(), 1, {Part::kHead});
  EXPECT_EQ(loaded.missing_keys,
            (std::vector<std::string>{"head.output.bias", "head.output.weight"}));
  EXPECT_TRUE(loaded.unexpected_keys.empty());
  const auto made = make_model(saved.model->options(), 1);
  EXPECT_TRUE(at::equal(made->named_parameters()["head.output.weight"],
                        loaded.model->named_parameters()["head.output.weight"]));
  EXPECT_TRUE(at::equal(saved.model->named_parameters()["pooler.dense.weight"],
                        loaded.model->named_parameters()["pooler.dense.weight"]));
}

TEST(ModelDirectory, MissingAndMisshapenTensorsAreNamed) {
  const std::string name = "bert.encoder.layer.1.output.dense.weight";
  const Saved missing(test::tiny_options());
  missing.edit([&](Tensors& tensors) { tensors.erase(name); });
  EXPECT_EQ(missing.error(), missing.folder.path("model.safetensors") + ": missing key: tensor '" +
                                 name + "', which config.json requires with shape (8, 12)");
  const Saved misshapen(test::tiny_options());
  misshapen.edit([&](Tensors& tensors) { tensors[name] = at::zeros({8, 11}); });
  EXPECT_EQ(
      misshapen.error(),
      misshapen.folder.path("model.safetensors") + ": " + name +
          ": found (8, 11) of F32, but config.json requires (8, 12) of F32, F16, BF16 or F64");
  const Saved whole_numbers(test::tiny_options());
  whole_numbers.edit([&](Tensors& tensors) { tensors[name] = at::zeros({8, 12}, at::kInt); });
  EXPECT_NE(whole_numbers.error().find("found (8, 12) of I32"), std::string::npos);
}

TEST(ModelDirectory, AHugeConfigFailsBeforeAnythingIsAllocated) {
  const Saved saved(test::tiny_options());
  auto json = formats::read_json(saved.folder.path("config.json"));
  json["vocab_size"] = int64_t{1} << 28;
  json["hidden_size"] = 1 << 20;
  json["intermediate_size"] = 1 << 20;
  saved.folder.write("config.json", json.dump());
  EXPECT_NE(
      saved.error().find("found (20, 8) of F32, but config.json requires (268435456, 1048576)"),
      std::string::npos)
      << saved.error();
}

TEST(ModelDirectory, ShardsAreReadThroughTheirIndex) {
  const Saved saved(test::tiny_options());
  const auto tensors = test::read_tensors(saved.folder.path("model.safetensors"));
  std::filesystem::remove(saved.folder.path("model.safetensors"));
  Tensors parts[2];
  formats::Json map = formats::Json::object();
  int64_t number = 0;
  for (const auto& [name, tensor] : tensors) {
    parts[number % 2][name] = tensor;
    map[name] = number++ % 2 == 0 ? "a.safetensors" : "b.safetensors";
  }
  test::write_tensors(saved.folder.path("a.safetensors"), parts[0]);
  test::write_tensors(saved.folder.path("b.safetensors"), parts[1]);
  saved.folder.write("model.safetensors.index.json", formats::Json{{"weight_map", map}}.dump());
  EXPECT_TRUE(are_equal(*saved.model, *saved.load().model));
  map[map.begin().key()] = "../outside.safetensors";
  saved.folder.write("model.safetensors.index.json", formats::Json{{"weight_map", map}}.dump());
  EXPECT_NE(saved.error().find("../outside.safetensors"), std::string::npos);
}

TEST(ModelDirectory, PickleFileErrorExplainsHowToConvertIt) {
  const Saved saved(test::tiny_options());
  std::filesystem::rename(saved.folder.path("model.safetensors"),
                          saved.folder.path("pytorch_model.bin"));
  EXPECT_NE(saved.error().find("save_pretrained"), std::string::npos);
}

TEST(ModelDirectory, RunDirectoryResolvesToBestElseLast) {
  const test::Folder run;
  EXPECT_THROW(model_directory(run.path()), UserError);
  EXPECT_THROW(model_directory(run.path("nowhere")), UserError);
  for (const auto* name : {"last", "best"}) {
    std::filesystem::create_directory(run.path(name));
    run.write(std::string(name) + "/config.json", "{}");
    EXPECT_EQ(model_directory(run.path()), run.path(name));
  }
  EXPECT_EQ(model_directory(run.path("last")), run.path("last"));
}

TEST(ModelDirectory, SaysHowToDownloadAModelOfTheHub) {
  const auto message = [](const std::string& path) {
    return test::message_of<UserError>([&] { model_directory(path); });
  };
  EXPECT_EQ(
      message("sentence-transformers/all-MiniLM-L6-v2"),
      "sentence-transformers/all-MiniLM-L6-v2: model not found: the directory does not exist; "
      "a model of the Hugging Face Hub is downloaded with `hf download "
      "sentence-transformers/all-MiniLM-L6-v2 --local-dir "
      "sentence-transformers/all-MiniLM-L6-v2`");
  for (const std::string path : {"./bert", "/models/bert", "a/b/c", "bert/", "my bert"}) {
    EXPECT_EQ(message(path), path + ": model not found: the directory does not exist");
  }
  EXPECT_FALSE(is_hub_name("configs/missing.yaml"));
}

}  // namespace
}  // namespace weft::models
