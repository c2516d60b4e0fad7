#include "base/percent.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(FormatPercent, SmallSharesHaveMoreDecimals) {
  EXPECT_EQ(format_percent(1, 8), "12.50 %");
  EXPECT_EQ(format_percent(1, 2000), "0.0500 %");
  EXPECT_EQ(format_percent(0, 0), "0.00 %");
}

}  // namespace
}  // namespace weft
