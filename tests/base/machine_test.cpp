#include "base/machine.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Machine, FeaturesAreWholeWordsOfTheFlags) {
  const auto found =
      cpu_features("model name\t: X\nflags\t\t: fpu avx2 avx512f_not avx512_bf16\n\nflags : sve\n");
  EXPECT_EQ(found, (std::vector<std::string>{"avx2", "avx512_bf16"}));
}

TEST(Machine, ArmFeaturesHaveADifferentName) {
  EXPECT_EQ(cpu_features("Features : fp asimd bf16\n"),
            (std::vector<std::string>{"asimd", "bf16"}));
}

TEST(Machine, QuotaIsCoresWorthOfTime) {
  EXPECT_DOUBLE_EQ(cpu_quota("150000 100000\n"), 1.5);
  EXPECT_DOUBLE_EQ(cpu_quota("max 100000\n"), 0);
  EXPECT_DOUBLE_EQ(cpu_quota(""), 0);
}

TEST(Machine, ThisOneHasCoresMemoryAndDisk) {
  const auto machine = read_machine();
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory, machine.free_memory);
  EXPECT_GT(machine.free_memory, 0);
  EXPECT_GT(machine.free_disk, 0);
}

TEST(Memory, ReadsSizesWithUnits) {
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
