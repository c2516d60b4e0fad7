#include "train/step/evaluate_directory.h"

#include <gtest/gtest.h>

#include "models/config/family.h"
#include "models/every_head.h"
#include "objectives/objective_registry.h"
#include "support/config.h"

namespace weft::train {
namespace {

// Evaluation of a directory without weft.yaml chooses the objective by the head.
TEST(EvaluateDirectory, TheObjectiveOfAHeadIsOneThatTrainsIt) {
  for (const auto& options : test::every_head()) {
    SCOPED_TRACE(models::architecture_of(options));
    const auto& definition = models::head_of(options);
    if (definition.objective.empty()) {
      EXPECT_TRUE(definition.is_bare || definition.predicts_spans);
      continue;
    }
    auto section = test::section("objective", {{"type", std::string(definition.objective)}});
    const auto trained = objectives::read_objective(section)->head(options);
    if (definition.predicts_next_sentence) {  // only mlm with pairs trains it
      EXPECT_TRUE(models::definition_of(trained).predicts_masked_tokens());
    } else {
      EXPECT_EQ(trained, options.head);
    }
  }
}

}  // namespace
}  // namespace weft::train
