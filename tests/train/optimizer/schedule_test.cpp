#include "train/optimizer/schedule.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "support/config.h"

namespace weft::train {
namespace {

using config::DurationUnit;

constexpr double kLr = 1e-3;

// Rates at the beginning of these steps, of a run of 100 steps with 10 of warm-up.
const std::vector<int64_t> kSteps = {0, 5, 10, 11, 55, 70, 85, 99};

using ScheduleKeys = std::vector<std::pair<std::string, std::string>>;

ScheduleOptions schedule_of(const ScheduleKeys& keys,
                            const config::Duration& duration = {.amount = 100}) {
  return read_schedule_options(test::section("train.schedule", keys), duration);
}

void expect_rates(ScheduleKeys keys, const std::vector<double>& expected) {
  keys.emplace_back("warmup", "10 steps");
  LearningRate rate(schedule_of(keys), {.amount = 100}, kLr);
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    EXPECT_NEAR(rate.at({.steps = kSteps[i]}), expected[i], 1e-15) << "step " << kSteps[i];
  }
}

// The numbers are those of transformers.get_scheduler (5.23) for the schedule of the same name.
TEST(Schedule, LinearFallsAsInTransformers) {
  expect_rates({{"type", "linear"}},
               {0, 5e-4, 1e-3, 0.00098888888888888898, 5e-4, 0.00033333333333333332,
                0.00016666666666666666, 1.1111111111111112e-05});
}

TEST(Schedule, CosineFallsAsInTransformers) {
  expect_rates({{"type", "cosine"}},
               {0, 5e-4, 1e-3, 0.00099969541350954788, 5e-4, 0.00025000000000000011,
                6.6987298107780649e-05, 3.0458649045211895e-07});
  expect_rates({{"type", "cosine"}, {"min_lr_ratio", "0.1"}},
               {0, 5e-4, 1e-3, 0.0009997258721585931, 0.00055000000000000003,
                0.00032500000000000015, 0.00016028856829700258, 0.0001002741278414069});
}

TEST(Schedule, PolynomialFallsAsInTransformers) {
  expect_rates({{"type", "polynomial"}, {"power", "2.0"}, {"min_lr_ratio", "0.1"}},
               {0, 5e-4, 1e-3, 0.00098011111111111107, 0.00032499999999999999,
                0.00020000000000000004, 0.000125, 0.00010011111111111112});
}

TEST(Schedule, InverseSquareRootFallsAsInTransformers) {
  expect_rates({{"type", "inverse_sqrt"}},
               {0, 5e-4, 1e-3, 0.00095346258924559229, 0.00042640143271122083,
                0.00037796447300922722, 0.00034299717028501764, 0.00031782086308186408});
}

TEST(Schedule, ConstantStaysAsInTransformers) {
  expect_rates({{"type", "constant"}}, {0, 5e-4, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3});
}

TEST(Schedule, StableThenDecaysAsInTransformers) {
  expect_rates({{"type", "warmup_stable_decay"}, {"min_lr_ratio", "0.1"}, {"decay", "30 steps"}},
               {0, 5e-4, 1e-3, 1e-3, 1e-3, 1e-3, 0.00055000000000000003, 0.00010246514708427702});
}

TEST(Schedule, NothingWarmsUpWhereNoWarmupIsAskedFor) {
  LearningRate rate(ScheduleOptions{}, {.amount = 4}, 1.0);
  EXPECT_EQ(rate.at({.steps = 0}), 1.0);
  EXPECT_EQ(rate.at({.steps = 3}), 0.25);
}

TEST(Schedule, CountsTheUnitOfTheDuration) {
  const config::Duration epochs = {.amount = 2, .unit = DurationUnit::kEpochs};
  LearningRate by_epochs(ScheduleOptions{}, epochs, 1.0);
  EXPECT_EQ(by_epochs.at({.steps = 17, .epochs = 0.5}), 0.75);
  const config::Duration minutes = {.amount = 8, .unit = DurationUnit::kMinutes};
  LearningRate by_minutes(ScheduleOptions{}, minutes, 1.0);
  EXPECT_EQ(by_minutes.at({.steps = 17, .minutes = 6}), 0.25);
}

TEST(Schedule, AWarmupMayBeAFractionOfTheRun) {
  const config::Duration epochs = {.amount = 5, .unit = DurationUnit::kEpochs};
  const config::Duration half = {.amount = 0.5, .unit = DurationUnit::kEpochs};
  EXPECT_EQ(schedule_of({{"warmup", "10%"}}, epochs).warmup, half);
  EXPECT_EQ(schedule_of({{"warmup", "0.1"}}, epochs).warmup, half);
  LearningRate rate(schedule_of({{"warmup", "10%"}}), {.amount = 100}, 1.0);
  EXPECT_EQ(rate.at({.steps = 5}), 0.5);
  EXPECT_EQ(rate.at({.steps = 55}), 0.5);
}

TEST(Schedule, RemembersWhereAWarmupInAnotherUnitEnded) {
  ScheduleOptions options;
  options.warmup = {.amount = 10, .unit = DurationUnit::kSteps};
  const config::Duration duration = {.amount = 1000, .unit = DurationUnit::kTokens};
  LearningRate rate(options, duration, 1.0);
  EXPECT_EQ(rate.at({.steps = 5, .tokens = 100}), 0.5);
  EXPECT_FALSE(rate.warmup_end());
  EXPECT_EQ(rate.at({.steps = 10, .tokens = 200}), 1.0);
  ASSERT_TRUE(rate.warmup_end());
  EXPECT_EQ(rate.warmup_end()->progress, 200.0);
  EXPECT_EQ(rate.at({.steps = 30, .tokens = 600}), 0.5);

  LearningRate resumed(options, duration, 1.0);
  resumed.set_warmup_end(rate.warmup_end());
  EXPECT_EQ(resumed.at({.steps = 30, .tokens = 700}), 0.375);

  LearningRate longer(options, {.amount = 2000, .unit = DurationUnit::kTokens}, 1.0);
  longer.set_warmup_end(rate.warmup_end());
  EXPECT_EQ(longer.at({.steps = 30, .tokens = 1100}), 0.5);
}

// The end of a warm-up that the config no longer has says nothing.
TEST(Schedule, ForgetsTheEndOfAnotherWarmup) {
  ScheduleOptions options;
  options.warmup = {.amount = 10, .unit = DurationUnit::kSteps};
  const config::Duration tokens = {.amount = 1000, .unit = DurationUnit::kTokens};
  LearningRate before(options, tokens, 1.0);
  before.at({.steps = 10, .tokens = 200});

  LearningRate in_epochs(options, {.amount = 4, .unit = DurationUnit::kEpochs}, 1.0);
  in_epochs.set_warmup_end(before.warmup_end());
  EXPECT_FALSE(in_epochs.warmup_end());
  // 10 of 40 steps are a quarter of the two epochs so far.
  EXPECT_DOUBLE_EQ(in_epochs.at({.steps = 40, .epochs = 2, .tokens = 800}), 2 / 3.5);

  options.warmup.amount = 20;
  LearningRate longer(options, tokens, 1.0);
  longer.set_warmup_end(before.warmup_end());
  EXPECT_EQ(longer.at({.steps = 20, .tokens = 400}), 1.0);

  // Where both have one unit, the config says when the warm-up ends.
  LearningRate exact(options, {.amount = 100}, 1.0);
  exact.set_warmup_end(before.warmup_end());
  EXPECT_EQ(exact.at({.steps = 20}), 1.0);
  EXPECT_EQ(exact.at({.steps = 60}), 0.5);
  EXPECT_FALSE(exact.warmup_end());
}

TEST(TrainingProgress, IsDueOnceForEveryMultiple) {
  const config::Duration every = {.amount = 0.5, .unit = DurationUnit::kEpochs};
  EXPECT_FALSE(is_due({.epochs = 0.1}, {.epochs = 0.4}, every));
  EXPECT_TRUE(is_due({.epochs = 0.4}, {.epochs = 0.5}, every));
  EXPECT_FALSE(is_due({.epochs = 0.5}, {.epochs = 0.9}, every));
  EXPECT_TRUE(is_due({.epochs = 0.9}, {.epochs = 1.3}, every));
}

// 0.3 / 0.1 is a little less than 3 in floating point.
TEST(TrainingProgress, IsDueAtMultiplesOfRoundedNumbers) {
  const config::Duration tenth = {.amount = 0.1, .unit = DurationUnit::kEpochs};
  std::vector<int> steps;
  for (int step = 1; step <= 100; ++step) {
    if (is_due({.epochs = (step - 1) / 50.0}, {.epochs = step / 50.0}, tenth)) {
      steps.push_back(step);
    }
  }
  ASSERT_EQ(steps.size(), 20U);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(steps[static_cast<std::size_t>(i)], 5 * (i + 1));
  }
}

// transformers' get_cosine_with_hard_restarts_schedule_with_warmup: with progress p = (step - 10) /
// 90 the factor is (1 + cos(pi * (cycles * p mod 1))) / 2.
TEST(Schedule, CosineRestartsAsInTransformers) {
  expect_rates({{"type", "cosine_with_restarts"}},
               {0, 5e-4, 1e-3, 0.00099969541350954788, 5e-4, 0.00025000000000000011,
                6.6987298107780649e-05, 3.0458649045211895e-07});
  expect_rates(
      {{"type", "cosine_with_restarts"}, {"num_cycles", "3"}},
      {0.0, 0.0005, 0.001, 0.0009972609476841367, 0.0005, 0.001, 0.0005, 2.7390523158632995e-06});
  LearningRate rate(schedule_of({{"type", "cosine_with_restarts"}, {"num_cycles", "2"}}),
                    {.amount = 100}, 1.0);
  EXPECT_NEAR(rate.at({.steps = 49}), 0.5 * (1 - std::cos(std::numbers::pi / 50)), 1e-15);
  EXPECT_EQ(rate.at({.steps = 50}), 1.0);
  EXPECT_EQ(rate.at({.steps = 100}), 0.0);
}

TEST(Schedule, KeysOfOthersAndUnknownTypesAreRefused) {
  const auto mistake = [](const ScheduleKeys& keys) {
    return test::message_of<config::Error>([&] { schedule_of(keys); });
  };
  EXPECT_NE(mistake({{"type", "cosine_with_restart"}}).find("did you mean 'cosine_with_restarts'?"),
            std::string::npos);
  EXPECT_NE(mistake({{"num_cycles", "2"}})
                .find("num_cycles: has no effect here, only with type: cosine_with_restarts"),
            std::string::npos);
  EXPECT_NE(mistake({{"type", "warmup_stable_decay"}, {"decay", "3 epochs"}})
                .find("decay: must have the unit of train.duration, 100 steps"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::train
