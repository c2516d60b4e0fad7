#include <gtest/gtest.h>

#include "base/error.h"
#include "support/config.h"
#include "train/optimizer/train_options.h"

namespace weft::train {
namespace {

using config::DurationUnit;

TrainOptions options_of(const config::Duration& duration, const config::Duration& warmup = {}) {
  TrainOptions options;
  options.duration = duration;
  options.schedule.warmup = warmup;
  return options;
}

std::optional<std::string> check(const TrainOptions& options) {
  return check_run_length(options, [] { return 6; });
}

std::string refusal(const TrainOptions& options) {
  return test::message_of<UserError>([&] { check(options); });
}

TEST(RunLength, FewUpdatesAreAWarning) {
  auto epochs = options_of({.amount = 3, .unit = DurationUnit::kEpochs});
  EXPECT_EQ(check(epochs),
            "only 18 updates in 3 epochs, models usually need more than 100: decrease "
            "train.batch_tokens (8192) or increase train.duration");
  epochs.batch_tokens.reset();
  epochs.batch_sequences = 256;
  EXPECT_EQ(check(epochs),
            "only 18 updates in 3 epochs, models usually need more than 100: decrease "
            "train.batch_sequences (256) or increase train.duration");
  EXPECT_EQ(check(options_of({.amount = 8193, .unit = DurationUnit::kTokens})),
            "only about 2 updates in 8193 tokens, models usually need more than 100: decrease "
            "train.batch_tokens (8192) or increase train.duration");
  EXPECT_TRUE(check(options_of({.amount = 99})));
}

TEST(RunLength, EnoughUpdatesAndUnknownOnesAreNone) {
  EXPECT_EQ(check(options_of({.amount = 100})), std::nullopt);
  EXPECT_EQ(check(options_of({.amount = 17, .unit = DurationUnit::kEpochs})), std::nullopt);
  EXPECT_EQ(check(options_of({.amount = 1, .unit = DurationUnit::kSeconds})), std::nullopt);
}

TEST(RunLength, AWarmupLongerThanTheRunIsRefusedInAnotherUnit) {
  const config::Duration epochs = {.amount = 3, .unit = DurationUnit::kEpochs};
  EXPECT_EQ(refusal(options_of(epochs, {.amount = 19})),
            "train.schedule.warmup: the warm-up of 19 steps (19 updates) is longer than the run of "
            "3 epochs (18 updates), must be at most the duration, or a fraction such as 10%");
  EXPECT_EQ(refusal(options_of({.amount = 200}, {.amount = 40, .unit = DurationUnit::kEpochs})),
            "train.schedule.warmup: the warm-up of 40 epochs (240 updates) is longer than the run "
            "of 200 steps (200 updates), must be at most the duration, or a fraction such as 10%");
  EXPECT_NE(refusal(options_of({.amount = 200}, {.amount = 2e6, .unit = DurationUnit::kTokens})),
            "");
  EXPECT_TRUE(check(options_of(epochs, {.amount = 18})));
}

TEST(RunLength, TokensOfStepsThatMayNotBeFullAreNoReasonToRefuse) {
  EXPECT_TRUE(check(options_of({.amount = 8192, .unit = DurationUnit::kTokens}, {.amount = 2})));
}

}  // namespace
}  // namespace weft::train
