#include "config/duration.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace weft::config {
namespace {

TEST(Duration, ReadsAmountScaleAndUnit) {
  EXPECT_EQ(parse_duration("2000 steps"), (Duration{2000, DurationUnit::kSteps}));
  EXPECT_EQ(parse_duration("1 step"), (Duration{1, DurationUnit::kSteps}));
  EXPECT_EQ(parse_duration("0.5 epochs"), (Duration{0.5, DurationUnit::kEpochs}));
  EXPECT_EQ(parse_duration("10M tokens"), (Duration{1e7, DurationUnit::kTokens}));
  EXPECT_EQ(parse_duration("1.5k steps"), (Duration{1500, DurationUnit::kSteps}));
  EXPECT_EQ(parse_duration(" 2 G  tokens "), (Duration{2e9, DurationUnit::kTokens}));
  EXPECT_EQ(parse_duration("45minutes"), (Duration{45, DurationUnit::kMinutes}));
  EXPECT_EQ(parse_duration("90 seconds"), (Duration{90, DurationUnit::kSeconds}));
  EXPECT_EQ(parse_duration("1.5 hours"), (Duration{1.5, DurationUnit::kHours}));
  EXPECT_EQ(parse_duration("1e3 steps"), (Duration{1000, DurationUnit::kSteps}));
  EXPECT_EQ(parse_duration("0 steps", true), (Duration{0, DurationUnit::kSteps}));
}

TEST(Duration, RefusesTheRest) {
  for (const auto* text : {"", "steps", "10", "10 k", "10 days", "0 steps", "-1 epochs",
                           "nan epochs", "inf steps", "1e400 steps", "1.5 tokens", "010 steps",
                           "1 steps 2", "0x10 steps", "1e16 steps", "1m steps", "1,000 steps"}) {
    EXPECT_THROW(parse_duration(text), std::invalid_argument) << text;
  }
  EXPECT_THROW(parse_duration("-1 steps", true), std::invalid_argument);
}

TEST(Duration, WritesWhatItReads) {
  for (const auto* text :
       {"2000 steps", "0.5 epochs", "10000000 tokens", "90 seconds", "45 minutes", "2 hours"}) {
    EXPECT_EQ(to_string(parse_duration(text)), text);
  }
}

TEST(Duration, ComparesUnitsOfTime) {
  EXPECT_TRUE(is_longer(parse_duration("1 hour"), parse_duration("59 minutes")));
  EXPECT_FALSE(is_longer(parse_duration("60 minutes"), parse_duration("1 hour")));
  EXPECT_TRUE(is_longer(parse_duration("61 seconds"), parse_duration("1 minute")));
  EXPECT_TRUE(is_longer(parse_duration("3 steps"), parse_duration("2 steps")));
  EXPECT_FALSE(is_longer(parse_duration("3 epochs"), parse_duration("2 steps")));
}

TEST(RelativeDuration, IsAFractionOfTheRunOrADuration) {
  const Duration run = {.amount = 3, .unit = DurationUnit::kEpochs};
  for (const auto* text : {"10%", "0.1", " 10 % ", "1e1%"}) {
    EXPECT_EQ(parse_relative_duration(text).of(run), (Duration{0.1 * 3, DurationUnit::kEpochs}))
        << text;
  }
  EXPECT_EQ(parse_relative_duration("50 steps").of(run), (Duration{50, DurationUnit::kSteps}));
  EXPECT_EQ(parse_relative_duration("0 steps").of(run), (Duration{0, DurationUnit::kSteps}));
  EXPECT_EQ(parse_relative_duration("100%").of(run), run);
}

TEST(RelativeDuration, WritesWhatItReads) {
  for (const auto* text : {"10%", "6%", "7%", "0%", "1.25%", "50 steps", "0.1 epochs"}) {
    EXPECT_EQ(to_string(parse_relative_duration(text)), text);
  }
  EXPECT_EQ(to_string(parse_relative_duration("0.06")), "6%");
  const double third = 1.0 / 3;
  EXPECT_EQ(parse_relative_duration(to_string(RelativeDuration{.fraction = third})).fraction,
            third);
}

TEST(RelativeDuration, RefusesTheRest) {
  for (const auto* text : {"110%", "-1%", "-0.1", "1", "10", "%", "", "nan", "ten%", "10%%"}) {
    EXPECT_THROW(parse_relative_duration(text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace weft::config
