#include "base/memory.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Memory, ReadsDurationsWithUnits) {
  EXPECT_EQ(detail::parse_size("MemTotal: 9 kB\nMemAvailable:   1234 kB\n", "MemAvailable"),
            1234 * 1024);
  EXPECT_EQ(detail::parse_size("active_file 5\ninactive_file 70\n", "inactive_file"), 70);
  EXPECT_EQ(detail::parse_size("active_file 5\n", "file"), -1);
  EXPECT_EQ(detail::parse_size("", "file"), -1);
}

TEST(Memory, SomeIsLeft) { EXPECT_GT(available_memory(), int64_t{1} << 20); }

TEST(Memory, LargeMappingsWorkIfAddressSpaceAllows) {
  EXPECT_TRUE(can_map(int64_t{1} << 20U));
  EXPECT_FALSE(can_map(int64_t{1} << 60U));
}

}  // namespace
}  // namespace weft
