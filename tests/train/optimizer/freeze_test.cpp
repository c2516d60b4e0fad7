#include "train/optimizer/freeze.h"

#include <stdexcept>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "models/config/family.h"
#include "support/config.h"

namespace weft::train {
namespace {

const std::vector<std::string> kNames = {
    "embeddings.word.weight", "embeddings.norm.bias", "layers.0.up.weight", "layers.0.up.bias",
    "layers.1.up.weight",     "layers.1.up.bias",     "layers.10.up.bias",  "layers.norm.weight",
    "pooler.dense.weight",    "head.output.weight",   "head.output.bias"};

std::string refusal(const std::vector<std::string>& items) {
  return test::message_of<std::invalid_argument>([&] { frozen_parameters(items, kNames); });
}

TEST(Freeze, TakesPartsWholeButNoLongerNames) {
  EXPECT_EQ(frozen_parameters({"layers.1"}, kNames),
            (std::set<std::string>{"layers.1.up.weight", "layers.1.up.bias"}));
  EXPECT_EQ(frozen_parameters({"embeddings.word.weight"}, kNames),
            (std::set<std::string>{"embeddings.word.weight"}));
  EXPECT_TRUE(frozen_parameters({}, kNames).empty());
}

TEST(Freeze, TakesRangesPatternsAndTheBackbone) {
  EXPECT_EQ(frozen_parameters({"layers.0-1"}, kNames).size(), 4U);
  EXPECT_EQ(frozen_parameters({"layers.*.bias"}, kNames),
            (std::set<std::string>{"layers.0.up.bias", "layers.1.up.bias", "layers.10.up.bias"}));
  const auto backbone = frozen_parameters({"backbone"}, kNames);
  EXPECT_EQ(backbone.size(), kNames.size() - 3);
  EXPECT_TRUE(backbone.contains("layers.norm.weight"));
  EXPECT_FALSE(backbone.contains("pooler.dense.weight"));
}

TEST(Freeze, RefusesWhatNamesNothingWithTheNearest) {
  EXPECT_EQ(refusal({"embedings"}),
            "'embedings' matches no parameter of the model, whose modules are embeddings, head, "
            "layers, pooler; did you mean 'embeddings'?");
  EXPECT_EQ(refusal({"layers.0-11"}), "'layers.0-11' is beyond the last layer, layers.10");
  EXPECT_EQ(refusal({"layers.1-0"}), "'layers.1-0' is a descending range");
  EXPECT_NE(refusal({"layers.1-3"}).find("'layers.2' matches no parameter"), std::string::npos);
  EXPECT_NE(refusal({"*.gamma"}).find("matches no parameter"), std::string::npos);
  EXPECT_NE(refusal({""}).find("matches no parameter"), std::string::npos);
  EXPECT_EQ(refusal({"*"}), "leaves no trainable parameters");
}

TEST(Freeze, KnowsTheNamesBeforeTheTokenizerIsTrained) {
  for (const auto* family : {"elmo", "seq2seq_rnn", "bert"}) {
    auto options = models::family_defaults(models::family_named(family));
    options.vocabulary = 0;
    const auto names = parameter_names(options);
    options.vocabulary = 10;
    EXPECT_EQ(names, parameter_names(options)) << family;
    EXPECT_FALSE(names.empty());
  }
}

TEST(Freeze, SettlesWhichParametersRequireAGradient) {
  torch::nn::Module module;
  const auto kept = module.register_parameter("kept", at::ones({2}));
  const auto still = module.register_parameter("still", at::ones({2}));
  freeze(module, {"still"});
  EXPECT_TRUE(kept.requires_grad());
  EXPECT_FALSE(still.requires_grad());
  EXPECT_THROW(freeze(module, {"stil"}), UserError);
}

}  // namespace
}  // namespace weft::train
