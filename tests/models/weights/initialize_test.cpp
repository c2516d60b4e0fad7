#include "models/weights/initialize.h"

#include <gtest/gtest.h>

#include "models/directory.h"
#include "models/tiny.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

ModelOptions wide() {
  auto options = test::tiny_options();
  options.vocabulary = 1000;
  options.dim = 64;
  options.init_std = 0.02;
  return options;
}

TEST(Initialize, MatricesAreNormalOfTheGivenDeviation) {
  const auto model = make_model(wide(), 5);
  const auto values = model->named_parameters()["embeddings.word.weight"].detach().slice(0, 1);
  EXPECT_NEAR(values.mean().item<double>(), 0, 3e-4);
  EXPECT_NEAR(values.std().item<double>(), 0.02, 2e-4);
  EXPECT_LT(values.abs().max().item<double>(), 0.02 * 6);
}

TEST(Initialize, BiasesAreZeroNormsOneAndThePadRowZero) {
  const auto model = make_model(wide(), 5);
  for (const auto& item : model->named_parameters()) {
    if (item.value().dim() == 1) {
      const double expected = item.key().ends_with("norm.weight") ? 1 : 0;
      EXPECT_TRUE((item.value() == expected).all().item<bool>()) << item.key();
    }
  }
  EXPECT_TRUE((model->named_parameters()["embeddings.word.weight"][0] == 0).all().item<bool>());
  EXPECT_FALSE(
      (model->named_parameters()["embeddings.position.weight"][0] == 0).all().item<bool>());
  const auto roberta = make_model(test::tiny_options(family_named("roberta")), 5);
  EXPECT_TRUE(
      (roberta->named_parameters()["embeddings.position.weight"][1] == 0).all().item<bool>());
}

TEST(Initialize, SinusoidsBeginAfterThePadRow) {
  auto options = test::tiny_options(family_named("xlm-roberta"));
  options.has_sinusoidal_positions = true;
  const auto model = make_model(options, 5);
  const auto table = model->named_parameters()["embeddings.position.weight"].detach();
  EXPECT_TRUE((table.slice(0, 0, 2) == 0).all().item<bool>());
  EXPECT_TRUE(test::near(table[2], at::tensor({0.0F, 1.0F, 0.0F, 1.0F, 0.0F, 1.0F, 0.0F, 1.0F})));
  // Pair 1 of 8 features turns by 10000^(-2/8) = 0.1 a place: sin 0.3, cos 0.3 at the fourth.
  EXPECT_NEAR(table[5][2].item<double>(), 0.29552, 1e-5);
  EXPECT_NEAR(table[5][3].item<double>(), 0.95534, 1e-5);
}

TEST(Initialize, IsAFunctionOfSeedAndName) {
  const auto first = make_model(wide(), 5);
  const auto same = make_model(wide(), 5);
  const auto other = make_model(wide(), 6);
  auto longer_options = wide();
  longer_options.layers = 3;
  const auto longer = make_model(longer_options, 5);
  const auto name = "layers.1.feed_forward.up.weight";
  const auto value = first->named_parameters()[name];
  EXPECT_TRUE(at::equal(value, same->named_parameters()[name]));
  EXPECT_FALSE(at::equal(value, other->named_parameters()[name]));
  EXPECT_TRUE(at::equal(value, longer->named_parameters()[name]));
  EXPECT_FALSE(at::equal(value, first->named_parameters()["layers.0.feed_forward.up.weight"]));
}

}  // namespace
}  // namespace weft::models
