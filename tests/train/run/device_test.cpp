#include "train/run/device.h"

#include <string>

#include <gtest/gtest.h>

#include "kernels/cpu/kernel_table.h"

namespace weft::train {
namespace {

namespace cpu = kernels::cpu;

TEST(FastestPrecision, IsBf16OnACpuThatMultipliesIt) {
  const std::string before = cpu::kernel_table().name;
  for (const std::string level : {"plain", "avx2", "avx512", "avx512_vnni", "avx512_bf16"}) {
    if (cpu::use_level(level)) {
      const auto choice = fastest_precision(at::kCPU);
      EXPECT_EQ(choice.type, level == "avx512_bf16" ? at::kBFloat16 : at::kFloat) << level;
      EXPECT_EQ(choice.reason == "the CPU has no fast bf16 products", choice.type == at::kFloat);
    }
  }
  ASSERT_TRUE(cpu::use_level(before));
}

TEST(ChoosePrecision, ABagOfWordsHasNoProducts) {
  models::ModelOptions words;
  words.family = models::family_named("bag_of_words");
  EXPECT_EQ(choose_precision(Precision::kAuto, std::nullopt, words, at::kCPU).type, at::kFloat);
  EXPECT_EQ(choose_precision(Precision::kBf16, std::nullopt, words, at::kCPU).type, at::kBFloat16);
}

TEST(ChoosePrecision, AutoIsThatOfThisMachine) {
  const models::ModelOptions bert;
  EXPECT_EQ(choose_precision(Precision::kAuto, std::nullopt, bert, at::kCPU).type,
            fastest_precision(at::kCPU).type);
}

TEST(ChoosePrecision, AResumedRunKeepsItsOwn) {
  const models::ModelOptions bert;
  EXPECT_EQ(choose_precision(Precision::kAuto, "bf16", bert, at::kCPU).type, at::kBFloat16);
  EXPECT_EQ(choose_precision(Precision::kAuto, "fp32", bert, at::kCPU).type, at::kFloat);
}

}  // namespace
}  // namespace weft::train
