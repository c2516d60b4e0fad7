#include "metrics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

namespace weft::metrics {
namespace {

TEST(Bootstrap, DrawsRowsWithReplacementAlikeEachTime) {
  const auto rows = bootstrap_rows(1000, 7);
  ASSERT_EQ(rows.size(), 1000U);
  EXPECT_EQ(rows, bootstrap_rows(1000, 7));
  EXPECT_NE(rows, bootstrap_rows(1000, 8));
  EXPECT_LT(*std::max_element(rows.begin(), rows.end()), 1000U);
  auto distinct = rows;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  // Expected: 1 - 1/e of them, 632.
  EXPECT_NEAR(static_cast<double>(distinct.size()), 632, 50);
}

TEST(Bootstrap, IntervalIsInterpolatedBetweenSortedValues) {
  std::vector<double> values(101);  // 0 to 100
  std::iota(values.begin(), values.end(), 0.0);
  std::reverse(values.begin(), values.end());
  values.push_back(std::numeric_limits<double>::quiet_NaN());
  const auto interval = percentile_interval(values);
  EXPECT_DOUBLE_EQ(interval.low, 2.5);
  EXPECT_DOUBLE_EQ(interval.high, 97.5);
  EXPECT_TRUE(std::isnan(percentile_interval({}).low));
}

}  // namespace
}  // namespace weft::metrics
