#include "train/distributed/step_exchange.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace weft::train {
namespace {

TEST(StepExchange, KeepsEveryBitAndOrdersTheMicroBatches) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  StepOutcome mine;
  mine.micro_batches = {{.index = 2, .loss = kNan, .running_sums = {kInfinity, 3}},
                        {.index = 0, .loss = 0.1, .auxiliary_losses = {{"balance", 1e-300}}}};
  const auto all = exchange_outcomes(single_process(), mine);
  ASSERT_EQ(all.micro_batches.size(), 2U);
  EXPECT_EQ(all.micro_batches[0].index, 0);
  EXPECT_EQ(all.micro_batches[0].loss, 0.1);
  EXPECT_EQ(all.micro_batches[0].auxiliary_losses.at("balance"), 1e-300);
  EXPECT_EQ(all.micro_batches[1].index, 2);
  EXPECT_TRUE(std::isnan(all.micro_batches[1].loss));
  EXPECT_EQ(all.micro_batches[1].running_sums, (std::vector<double>{kInfinity, 3}));
  EXPECT_TRUE(all.is_complete());
}

TEST(StepExchange, KeepsAShortageAndAStop) {
  StepOutcome mine;
  mine.shortage = {.requested_bytes = std::nullopt, .tokens = 512, .sequences = 4};
  mine.is_stopped = true;
  const auto all = exchange_outcomes(single_process(), mine);
  ASSERT_TRUE(all.shortage);
  EXPECT_FALSE(all.shortage->requested_bytes);
  EXPECT_EQ(all.shortage->tokens, 512);
  EXPECT_EQ(all.shortage->sequences, 4);
  EXPECT_TRUE(all.is_stopped);
  mine.shortage->requested_bytes = 0;
  EXPECT_EQ(exchange_outcomes(single_process(), mine).shortage->requested_bytes, 0);
}

}  // namespace
}  // namespace weft::train
