#include "kernels/layout.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace weft::kernels {
namespace {

TEST(Layout, CountsPlacesInsideEachSequence) {
  const auto layout = Layout::from_offsets({0, 3, 3, 5}, at::kCPU);
  EXPECT_EQ(layout.sequences(), 3);
  EXPECT_EQ(layout.tokens(), 5);
  EXPECT_EQ(layout.max_length, 3);
  EXPECT_TRUE(at::equal(layout.positions, at::tensor({0, 1, 2, 0, 1}, at::kLong)));
  EXPECT_TRUE(at::equal(layout.device_offsets, at::tensor({0, 3, 3, 5}, at::kInt)));
}

TEST(Layout, OfEmptyInputIsEmpty) {
  const auto layout = Layout::from_offsets({0}, at::kCPU);
  EXPECT_EQ(layout.sequences(), 0);
  EXPECT_EQ(layout.tokens(), 0);
  EXPECT_EQ(layout.positions.numel(), 0);
}

TEST(Layout, TokensMayHaveTheirOwnPositions) {
  const auto layout =
      Layout::from_offsets({0, 5, 7}, at::kCPU).with_positions({0, 1, 2, 0, 1, 0, 0});
  EXPECT_TRUE(at::equal(layout.positions, at::tensor({0, 1, 2, 0, 1, 0, 0}, at::kLong)));
  EXPECT_EQ(layout.position_limit, 3);
  EXPECT_EQ(layout.max_length, 5);
  EXPECT_THROW(Layout::from_offsets({0, 2}, at::kCPU).with_positions({0}), c10::Error);
  EXPECT_THROW(Layout::from_offsets({0, 2}, at::kCPU).with_positions({0, -1}), c10::Error);
}

TEST(Layout, RefusesOffsetsThatFallOrBeginElsewhere) {
  EXPECT_THROW(Layout::from_offsets({0, 3, 2}, at::kCPU), c10::Error);
  EXPECT_THROW(Layout::from_offsets({1, 3}, at::kCPU), c10::Error);
  EXPECT_THROW(Layout::from_offsets({}, at::kCPU), c10::Error);
}

}  // namespace
}  // namespace weft::kernels
