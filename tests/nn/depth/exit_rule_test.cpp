#include "nn/depth/exit_rule.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/components.h"
#include "support/config.h"

namespace weft::nn {
namespace {

std::shared_ptr<ExitRule> exit_rule(const std::string& keys,
                                    OutputKind outputs = OutputKind::kClasses) {
  return test::component(exit_rules(), "early_exit", keys).make({.outputs = outputs});
}

/// Index of the first of these outputs with which a sequence exits; their number if none.
std::size_t exit_of(const ExitRule& rule, const std::vector<std::vector<float>>& layers) {
  ExitMemory memory;
  std::size_t layer = 0;
  while (layer < layers.size() && !rule.exits(layers[layer], memory)) {
    ++layer;
  }
  return layer;
}

TEST(ExitRule, EntropyIsThatOfTheProbabilities) {
  // Probabilities 3/4 and 1/4: 0.562335 nats.
  const std::vector<float> logits{100 + std::log(3.0F), 100};
  EXPECT_EQ(exit_of(*exit_rule("type: entropy, threshold: 0.5623"), {logits}), 1U);
  EXPECT_EQ(exit_of(*exit_rule("type: entropy, threshold: 0.5624"), {logits}), 0U);
  EXPECT_EQ(exit_of(*exit_rule("type: entropy, threshold: 0"), {{500, 0}}), 1U) << "never";
  EXPECT_EQ(exit_of(*exit_rule("type: entropy, threshold: 0.001"), {{500, 0}}), 0U);
  // Several labels: the mean of 0.693147 and 0.562335 nats.
  const std::vector<float> labels{0, std::log(3.0F)};
  EXPECT_EQ(exit_of(*exit_rule("type: entropy, threshold: 0.6277", OutputKind::kLabels), {labels}),
            1U);
  EXPECT_EQ(exit_of(*exit_rule("type: entropy, threshold: 0.6278", OutputKind::kLabels), {labels}),
            0U);
}

TEST(ExitRule, PatienceCountsLayersThatAgree) {
  const std::vector<std::vector<float>> layers{{1, 0}, {0, 1}, {0, 2}, {3, 1}, {2, 1}, {9, 1}};
  EXPECT_EQ(exit_of(*exit_rule("type: patience, patience: 1"), layers), 2U);
  EXPECT_EQ(exit_of(*exit_rule("type: patience, patience: 2"), layers), 5U);
  EXPECT_EQ(exit_of(*exit_rule("type: patience, patience: 3"), layers), 6U);
  const auto labels = exit_rule("type: patience, patience: 1", OutputKind::kLabels);
  EXPECT_EQ(exit_of(*labels, {{1, -1}, {1, 1}, {2, 3}}), 2U);
  const auto numbers =
      exit_rule("type: patience, patience: 1, tolerance: 0.5", OutputKind::kNumbers);
  EXPECT_EQ(exit_of(*numbers, {{1.0F}, {1.6F}, {2.2F}, {2.0F}}), 3U);
}

TEST(ExitRule, NumbersHaveNoEntropy) {
  EXPECT_EQ(test::message_of<UserError>([] { exit_rule("type: entropy", OutputKind::kNumbers); }),
            "model.early_exit.type: entropy, but the outputs are numbers, not classes; allowed is "
            "patience");
}

}  // namespace
}  // namespace weft::nn
