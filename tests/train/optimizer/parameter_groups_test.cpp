#include "train/optimizer/parameter_groups.h"

#include <stdexcept>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/config.h"

namespace weft::train {
namespace {

const std::vector<std::string> kParameters = {"embeddings.word.weight", "layers.0.up.weight",
                                              "layers.0.up.bias",       "layers.1.up.weight",
                                              "layers.1.up.bias",       "head.output.bias"};

std::vector<OptimizerOptions> groups_of(const std::vector<std::string>& patterns) {
  std::vector<OptimizerOptions> groups;
  for (const auto& pattern : patterns) {
    groups.push_back({.parameters = pattern});
  }
  return groups;
}

std::string group_mistake(const std::vector<std::string>& patterns,
                          const std::set<std::string>& frozen = {}) {
  return test::message_of<std::invalid_argument>(
      [&] { parameter_groups(groups_of(patterns), kParameters, frozen); });
}

TEST(ParameterGroups, FirstMatchWins) {
  const auto groups = parameter_groups(groups_of({"layers.0-1", "*.bias"}), kParameters, {});
  EXPECT_EQ(groups, (std::map<std::string, std::size_t>{{"layers.0.up.weight", 1},
                                                        {"layers.0.up.bias", 1},
                                                        {"layers.1.up.weight", 1},
                                                        {"layers.1.up.bias", 1},
                                                        {"head.output.bias", 2}}));
}

TEST(ParameterGroups, PatternsWithoutEffectAreRefused) {
  EXPECT_EQ(group_mistake({"head", "embedings"}),
            "groups.1.parameters: 'embedings' matches no parameter of the model, whose modules are "
            "embeddings, head, layers; did you mean 'embeddings'?");
  constexpr auto kUseless =
      "groups.1.parameters: 'head' has no effect: all parameters that it matches are frozen or in "
      "an earlier group";
  EXPECT_EQ(group_mistake({"*.bias", "head"}), kUseless);
  EXPECT_EQ(group_mistake({"*.weight", "head"}, {"head.output.bias"}), kUseless);
}

class GroupToy : public torch::nn::Module {
 public:
  GroupToy() {
    register_parameter("weight", at::ones({2, 3}));
    register_parameter("bias", at::ones({3}));
    register_parameter("tied", named_parameters()["weight"]);
  }
};

TEST(ParameterGroups, SettingsAreThoseOfTheGroup) {
  GroupToy toy;
  const auto parameters = toy.named_parameters();
  const auto settings_of = parameter_settings(
      {.lr = 0.5,
       .groups =
           {{.lr = 2, .decay_on = DecayOn::kAll, .scale_parameter = true, .parameters = "bias"}}},
      toy);
  EXPECT_EQ(settings_of("weight", parameters["weight"]), (ParameterSettings{.decays = true}));
  EXPECT_EQ(
      settings_of("bias", parameters["bias"]),
      (ParameterSettings{.group = 1, .decays = true, .lr_scale = 4, .has_own_segment = true}));
}

TEST(ParameterGroups, ATiedWeightIsMatchedByAnyOfItsNames) {
  GroupToy toy;
  const auto weight = toy.named_parameters()["weight"];
  EXPECT_EQ(parameter_settings({.groups = groups_of({"tied"})}, toy)("weight", weight).group, 1);
  EXPECT_THROW(parameter_settings({.groups = groups_of({"tide"})}, toy), UserError);
}

}  // namespace
}  // namespace weft::train
