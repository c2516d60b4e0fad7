#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "kernels/cpu/kernel_table.h"

namespace weft::kernels::cpu {
namespace {

/// Sets or unsets an environment variable during its lifetime.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const held = std::getenv(name); held != nullptr) {
      before_ = held;
    }
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) {
    if (value == nullptr) {
      ::unsetenv(name_);
    } else {
      ::setenv(name_, value, 1);
    }
  }

  const char* name_;
  std::optional<std::string> before_;
};

std::string wanted(const char* own, const char* libtorch) {
  const Variable first("WEFT_CPU_LEVEL", own);
  const Variable second("ATEN_CPU_CAPABILITY", libtorch);
  return std::string(requested_level());
}

TEST(WantedLevel, IsEmptyWithoutARequest) { EXPECT_EQ(wanted(nullptr, nullptr), ""); }

TEST(WantedLevel, FollowsTheSwitchOfLibTorch) {
  EXPECT_EQ(wanted(nullptr, "avx2"), "avx2");
  EXPECT_EQ(wanted(nullptr, "avx512"), "");  // its highest
  EXPECT_EQ(wanted(nullptr, "default"), "plain");
}

TEST(WantedLevel, OwnSwitchHasPriority) {
  EXPECT_EQ(wanted("plain", "avx2"), "plain");
  EXPECT_EQ(wanted("avx512", "default"), "avx512");
}

TEST(FastestLevel, IsTheBestOfTheProcessorUpToTheLimit) {
  Processor zen4{.has_avx2 = true, .has_avx512 = true, .has_vnni = true, .has_bf16 = true};
  EXPECT_EQ(fastest_level(zen4, ""), "avx512_bf16");
  EXPECT_EQ(fastest_level(zen4, "avx512_vnni"), "avx512_vnni");
  EXPECT_EQ(fastest_level(zen4, "avx512"), "avx512");
  EXPECT_EQ(fastest_level(zen4, "avx2"), "avx2");
  EXPECT_EQ(fastest_level(zen4, "plain"), "plain");
  zen4.has_bf16 = false;
  EXPECT_EQ(fastest_level(zen4, ""), "avx512_vnni");
  EXPECT_EQ(fastest_level(zen4, "avx512_bf16"), "avx512_vnni");
  EXPECT_EQ(fastest_level({.has_avx2 = true, .has_avx512 = true}, ""), "avx512");
  EXPECT_EQ(fastest_level({.has_avx2 = true}, ""), "avx2");
  EXPECT_EQ(fastest_level({.has_avx2 = true}, "avx512_bf16"), "avx2");
  EXPECT_EQ(fastest_level({}, ""), "plain");
}

TEST(FastestLevel, AvoidsIntelsBf16InstructionsWithoutAmx) {
  Processor xeon{
      .has_avx2 = true, .has_avx512 = true, .has_vnni = true, .has_bf16 = true, .is_intel = true};
  EXPECT_EQ(fastest_level(xeon, ""), "avx512_vnni");
  EXPECT_EQ(fastest_level(xeon, "avx512_bf16"), "avx512_bf16");
  xeon.has_amx = true;
  EXPECT_EQ(fastest_level(xeon, ""), "avx512_bf16");
}

}  // namespace
}  // namespace weft::kernels::cpu
