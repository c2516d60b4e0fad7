// A model family of a program that links Weft: registered, configured, trained, saved and loaded
// like those of Weft.
#include <stdexcept>

#include <gtest/gtest.h>

#include "base/log.h"
#include "models/config/family_definition.h"
#include "models/directory.h"
#include "models/weights/weights.h"
#include "support/config.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

/// GPT-2 with ReLU, whose tensors have the prefix `body.`.
models::FamilyDefinition relu_gpt() {
  auto made = *models::family_named("gpt2");
  made.name = "relu_gpt";
  made.hf_names = {{models::NormPlacement::kPre, "weft-relu-gpt", "body", "WeftReluGpt"}};
  made.defaults = [] {
    auto options = models::family_defaults(models::family_named("gpt2"));
    options.activation = kernels::Activation::kRelu;
    return options;
  };
  made.presets = {};
  made.tensors = [](const models::ModelOptions& options) {
    auto tensors = models::family_named("gpt2")->tensors(options);
    for (auto& tensor : tensors) {
      if (tensor.name.starts_with("transformer.")) {
        tensor.name.replace(0, std::string("transformer").size(), "body");
      }
    }
    return tensors;
  };
  return made;
}

class ExternalFamily : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    log::set_level(log::Level::kError);
    models::register_family(relu_gpt());
  }

  RunConfig config(const std::string& directory) const {
    return small_.config("mlm", directory,
                         {"model={type: relu_gpt, dim: 16, layers: 2, attention: {heads: 2}, "
                          "position: {length: 32}, feed_forward: {width: 32}}",
                          "tokenizer={type: byte_level_bpe, vocab_size: 300}",
                          "objective={type: causal}", "train.duration=2 steps"});
  }

  test::SmallRun small_;
};

TEST_F(ExternalFamily, TrainsAndLoadsAgain) {
  const auto read = config("run");
  EXPECT_EQ(models::word_of(read.model.family), "relu_gpt");
  EXPECT_EQ(read.model.activation, kernels::Activation::kRelu);
  run_training(read, {});
  const auto directory = models::model_directory(small_.path("run"));
  const auto options = models::read_model_config(directory);
  EXPECT_EQ(options.family, read.model.family);
  EXPECT_EQ(options.activation, kernels::Activation::kRelu);
  EXPECT_EQ(models::architecture_of(options), "WeftReluGptLMHeadModel");
  EXPECT_NE(models::SafetensorsShards(directory).find("body.wte.weight"), nullptr);
  const auto loaded = models::load_model(directory, options, 1);
  EXPECT_TRUE(loaded.missing_keys.empty());
  EXPECT_TRUE(loaded.unexpected_keys.empty());
  models::save_model(small_.folder().path("."), *loaded.model, formats::DType::kF32);
  const auto again = models::load_model(small_.folder().path("."), options, 2);
  const auto before = loaded.model->named_parameters();
  for (const auto& parameter : again.model->named_parameters()) {
    EXPECT_TRUE(at::equal(parameter.value(), before[parameter.key()])) << parameter.key();
  }
}

TEST_F(ExternalFamily, NamesAreTakenOnce) {
  EXPECT_THROW(models::register_family(relu_gpt()), std::invalid_argument);
  auto other = relu_gpt();
  other.name = "other";
  EXPECT_EQ(test::message_of<std::invalid_argument>([&] { models::register_family(other); }),
            "model family 'other': model_type 'weft-relu-gpt' belongs to relu_gpt, choose another "
            "one");
  EXPECT_EQ(test::message_of<std::invalid_argument>([] {
              models::family_named("gpt3");
            }).find("model family 'gpt3' is not one of bert, "),
            0U);
}

}  // namespace
}  // namespace weft::train
