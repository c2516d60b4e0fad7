#include "train/log/remaining_time.h"

#include <cmath>

#include <gtest/gtest.h>

namespace weft::train {
namespace {

using config::Duration;
using config::DurationUnit;

constexpr Duration kHundredSteps{.amount = 100};

TEST(RemainingTime, IsUnknownBeforeTheFirstStep) {
  const RemainingTime remaining({}, kHundredSteps, std::nullopt);
  EXPECT_TRUE(std::isinf(remaining.seconds({})));
}

TEST(RemainingTime, ExtrapolatesTheStepsOfThisProcess) {
  RemainingTime remaining({.steps = 50}, kHundredSteps, std::nullopt);
  remaining.add_step(2);
  remaining.add_step(4);
  EXPECT_NEAR(remaining.seconds({.steps = 52}), 48 * 3, 1e-9);
}

// Evaluations at 40, 80 and the end: neither their time nor that of a checkpoint changes the time
// per step, and each takes its own time off the rest.
TEST(RemainingTime, DoesNotCountEvaluationsAsSteps) {
  RemainingTime remaining({}, kHundredSteps, Duration{.amount = 40});
  remaining.add_step(40);
  EXPECT_NEAR(remaining.seconds({.steps = 40}), 60, 1e-9);
  remaining.add_evaluation({.steps = 40}, 7);
  EXPECT_NEAR(remaining.seconds({.steps = 40}), 60 + 2 * 7, 1e-9);
  remaining.add_step(40);
  EXPECT_NEAR(remaining.seconds({.steps = 80}), 20 + 2 * 7, 1e-9);
  remaining.add_evaluation({.steps = 80}, 7);
  EXPECT_NEAR(remaining.seconds({.steps = 80}), 20 + 7, 1e-9);
  remaining.add_step(20);
  EXPECT_NEAR(remaining.seconds({.steps = 100}), 7, 1e-9);
  remaining.add_evaluation({.steps = 100}, 7);
  EXPECT_NEAR(remaining.seconds({.steps = 100}), 0, 1e-9);
}

TEST(RemainingTime, EvaluationsInAnotherUnitThanTheDuration) {
  RemainingTime remaining({}, kHundredSteps, Duration{.amount = 1, .unit = DurationUnit::kEpochs});
  remaining.add_step(30);  // 30 steps are 1.2 epochs, so the run ends after 4
  remaining.add_evaluation({.steps = 30, .epochs = 1.2}, 5);
  EXPECT_NEAR(remaining.seconds({.steps = 30, .epochs = 1.2}), 70 + 3 * 5, 1e-9);
}

TEST(RemainingTime, DurationInTimeIncludesEverything) {
  RemainingTime remaining({}, {.amount = 1, .unit = DurationUnit::kHours}, Duration{.amount = 10});
  remaining.add_evaluation({}, 100);
  EXPECT_NEAR(remaining.seconds({.steps = 5, .minutes = 15}), 45 * 60, 1e-6);
}

}  // namespace
}  // namespace weft::train
