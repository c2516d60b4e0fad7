#include "train/optimizer/optimizer_options.h"

#include <gtest/gtest.h>

#include "support/config.h"
#include "train/optimizer/optimizer.h"

namespace weft::train {
namespace {

using GroupKeys = std::vector<std::pair<std::string, std::string>>;

OptimizerOptions options_from(const GroupKeys& keys) {
  return read_optimizer_options(test::section("train.optimizer", keys));
}

std::string optimizer_mistake(const GroupKeys& keys) {
  return test::message_of<config::Error>([&] { options_from(keys); });
}

bool message_has(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

TEST(OptimizerOptions, GroupOfTheSameTypeInheritsWhatItLeavesOut) {
  const auto options = options_from({{"lr", "0.5"},
                                     {"weight_decay", "0.25"},
                                     {"layer_decay", "0.5"},
                                     {"head_lr", "2"},
                                     {"scale_parameter", "true"},
                                     {"groups",
                                      "[{parameters: '*.bias', weight_decay: 0}, "
                                      "{parameters: head, lr: 3, decay_on: all}]"}});
  ASSERT_EQ(options.groups.size(), 2);
  const auto& bias = options.groups[0];
  EXPECT_EQ(bias.parameters, "*.bias");
  EXPECT_EQ(bias.lr, 0.5);
  EXPECT_EQ(bias.weight_decay, 0);
  EXPECT_EQ(bias.layer_decay, 0.5);
  EXPECT_EQ(bias.head_lr, 2);
  EXPECT_TRUE(bias.scale_parameter);
  const auto& head = options.groups[1];
  EXPECT_EQ(head.lr, 3);
  EXPECT_FALSE(head.head_lr) << "would replace the group's own rate";
  EXPECT_EQ(head.weight_decay, 0.25);
  EXPECT_EQ(head.decay_on, DecayOn::kAll);
}

TEST(OptimizerOptions, GroupOfAnotherTypeBeginsWithTheDefaultsAndNeedsARate) {
  const auto options =
      options_from({{"lr", "0.5"},
                    {"weight_decay", "0.25"},
                    {"groups", "[{parameters: a, type: sgd, momentum: 0.5, lr: 0.1}]"}});
  EXPECT_EQ(options.groups[0].type, "sgd");
  EXPECT_EQ(options.groups[0].parameters, "a");
  EXPECT_EQ(options.groups[0].lr, 0.1);
  EXPECT_EQ(options.groups[0].weight_decay, OptimizerOptions{}.weight_decay);
  EXPECT_TRUE(message_has(optimizer_mistake({{"groups", "[{parameters: a, type: sgd}]"}}),
                          "train.optimizer.groups.0.lr: missing, required because the group has "
                          "another type than train.optimizer: adamw, the group sgd"));
}

TEST(OptimizerOptions, KeysOfOtherTypesAreRefusedWithTheirTypes) {
  EXPECT_TRUE(
      message_has(optimizer_mistake({{"type", "sgd"}, {"betas", "[0.9, 0.9]"}}),
                  "train.optimizer.betas: has no effect here, only with type: adamw or lion"));
  EXPECT_TRUE(message_has(optimizer_mistake({{"type", "lion"}, {"epsilon", "1e-6"}}),
                          "train.optimizer.epsilon: has no effect here, only with type: adamw"));
  EXPECT_TRUE(
      message_has(optimizer_mistake({{"groups", "[{parameters: a, momentum: 0.5}]"}}),
                  "train.optimizer.groups.0.momentum: has no effect here, only with type: sgd"));
}

TEST(OptimizerOptions, MistakesNameTheNearest) {
  EXPECT_TRUE(message_has(optimizer_mistake({{"type", "lino"}}), "did you mean 'lion'?"));
  EXPECT_TRUE(message_has(optimizer_mistake({{"groups", "[{parameter: a}]"}}),
                          "unknown key 'parameter', did you mean 'parameters'?"));
  EXPECT_TRUE(message_has(optimizer_mistake({{"groups", "[{lr: 1}]"}}), "parameters: missing"));
  EXPECT_TRUE(message_has(optimizer_mistake({{"groups", "[{parameters: a, groups: []}]"}}),
                          "unknown key 'groups'"));
}

TEST(OptimizerOptions, StateOfAllGroupsCountsOnce) {
  EXPECT_EQ(optimizer_state_names({}), (std::vector<std::string>{"first_moment", "second_moment"}));
  EXPECT_EQ(optimizer_state_names({.type = "sgd"}), (std::vector<std::string>{"momentum"}));
  const OptimizerOptions mixed = {.groups = {{.type = "lion"}, {.type = "sgd"}, {.type = "adamw"}}};
  EXPECT_EQ(optimizer_state_names(mixed),
            (std::vector<std::string>{"first_moment", "second_moment", "momentum"}));
}

}  // namespace
}  // namespace weft::train
