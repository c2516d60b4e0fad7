#include <gtest/gtest.h>

#include "nn/position/position_types.h"

namespace weft::nn {
namespace {

TEST(T5Bias, BucketsAreThoseOfTheModels) {
  const auto both = [](int64_t offset) { return relative_position_bucket(offset, {}, false); };
  EXPECT_EQ(both(0), 0);
  EXPECT_EQ(both(-7), 7);
  EXPECT_EQ(both(-8), 8);
  EXPECT_EQ(both(-16), 10);
  EXPECT_EQ(both(-1000), 15);
  EXPECT_EQ(both(1), 17);
  EXPECT_EQ(both(500), 31);
  const auto causal = [](int64_t offset) { return relative_position_bucket(offset, {}, true); };
  EXPECT_EQ(causal(5), 0);
  EXPECT_EQ(causal(-15), 15);
  EXPECT_EQ(causal(-16), 16);
  EXPECT_EQ(causal(-40), 23);
  EXPECT_EQ(causal(-1000), 31);
}

}  // namespace
}  // namespace weft::nn
