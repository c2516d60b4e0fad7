#include <limits>

#include <gtest/gtest.h>

#include "train/step/state.h"

namespace weft::train {
namespace {

TEST(EarlyStopping, IsExhaustedAfterSoManyInARow) {
  const EarlyStoppingOptions options{.patience = 2};
  EarlyStopping early_stopping;
  for (const double value : {0.5, 0.6, 0.6}) {
    update_early_stopping(early_stopping, value, true, options);
    EXPECT_FALSE(should_stop_early(early_stopping, options)) << value;
  }
  update_early_stopping(early_stopping, 0.61, true, options);
  EXPECT_EQ(early_stopping.num_bad_evaluations, 0);
  update_early_stopping(early_stopping, 0.6, true, options);
  update_early_stopping(early_stopping, std::numeric_limits<double>::quiet_NaN(), true, options);
  EXPECT_TRUE(should_stop_early(early_stopping, options));
  EXPECT_EQ(early_stopping.best, 0.61);
  EXPECT_FALSE(should_stop_early(early_stopping, {.patience = 3}));
  EXPECT_FALSE(should_stop_early(early_stopping, {}));
}

TEST(EarlyStopping, IgnoresSmallGains) {
  const EarlyStoppingOptions options{.patience = 1, .min_delta = 0.25};
  EarlyStopping early_stopping;
  update_early_stopping(early_stopping, 4, false, options);
  update_early_stopping(early_stopping, 3.5, false, options);
  EXPECT_EQ(early_stopping.num_bad_evaluations, 0);
  update_early_stopping(early_stopping, 3.25, false, options);
  EXPECT_EQ(early_stopping.num_bad_evaluations, 1);
  EXPECT_EQ(early_stopping.best, 3.5);
}

TEST(EarlyStopping, NonFiniteMetricsAreNeverBest) {
  EarlyStopping early_stopping;
  update_early_stopping(early_stopping, std::numeric_limits<double>::infinity(), true,
                        {.patience = 5});
  EXPECT_FALSE(early_stopping.best);
  EXPECT_EQ(early_stopping.num_bad_evaluations, 1);
  update_early_stopping(early_stopping, -3, true, {.patience = 5});
  EXPECT_EQ(early_stopping.best, -3);
  EXPECT_EQ(early_stopping.num_bad_evaluations, 0);
}

}  // namespace
}  // namespace weft::train
