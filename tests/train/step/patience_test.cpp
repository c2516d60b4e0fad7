#include "train/step/patience.h"

#include <limits>

#include <gtest/gtest.h>

namespace weft::train {
namespace {

TEST(Patience, IsExhaustedAfterSoManyInARow) {
  const EarlyStoppingOptions rule{.patience = 2};
  Patience patience;
  for (const double value : {0.5, 0.6, 0.6}) {
    count(patience, value, false, rule);
    EXPECT_FALSE(is_exhausted(patience, rule)) << value;
  }
  count(patience, 0.61, false, rule);
  EXPECT_EQ(patience.waited, 0);
  count(patience, 0.6, false, rule);
  count(patience, std::numeric_limits<double>::quiet_NaN(), false, rule);
  EXPECT_TRUE(is_exhausted(patience, rule));
  EXPECT_EQ(patience.best, 0.61);
  EXPECT_FALSE(is_exhausted(patience, {.patience = 3}));
  EXPECT_FALSE(is_exhausted(patience, {}));
}

TEST(Patience, TakesSmallGainsForNone) {
  const EarlyStoppingOptions rule{.patience = 1, .min_delta = 0.25};
  Patience patience;
  count(patience, 4, true, rule);
  count(patience, 3.5, true, rule);
  EXPECT_EQ(patience.waited, 0);
  count(patience, 3.25, true, rule);
  EXPECT_EQ(patience.waited, 1);
  EXPECT_EQ(patience.best, 3.5);
}

TEST(Patience, TakesNoBestFromWhatIsNotFinite) {
  Patience patience;
  count(patience, std::numeric_limits<double>::infinity(), false, {.patience = 5});
  EXPECT_FALSE(patience.best);
  EXPECT_EQ(patience.waited, 1);
  count(patience, -3, false, {.patience = 5});
  EXPECT_EQ(patience.best, -3);
  EXPECT_EQ(patience.waited, 0);
}

}  // namespace
}  // namespace weft::train
