#include "train/run/device.h"

#include <gtest/gtest.h>

namespace weft::train {
namespace {

PrecisionChoice choice_for(const std::string& vendor, const std::vector<std::string>& features) {
  Machine machine;
  machine.cpu_vendor = vendor;
  machine.features = features;
  return fastest_cpu_precision(machine);
}

TEST(FastestPrecision, IsReadFromATableOfProcessors) {
  const auto amx = choice_for("GenuineIntel", {"avx512_bf16", "amx_bf16"});
  EXPECT_EQ(amx.type, at::kBFloat16);
  EXPECT_EQ(amx.reason, "the CPU has AMX for bf16");
  const auto masked = choice_for("GenuineIntel", {"avx512f", "avx512_bf16"});
  EXPECT_EQ(masked.type, at::kFloat);
  EXPECT_EQ(masked.reason, "the CPU has AVX512-BF16 without AMX, which is slower than fp32");
  const auto amd = choice_for("AuthenticAMD", {"avx512f", "avx512_bf16"});
  EXPECT_EQ(amd.type, at::kBFloat16);
  EXPECT_EQ(amd.reason, "the CPU, of AMD, has AVX512-BF16 at twice the rate of fp32");
  const auto older = choice_for("AuthenticAMD", {"avx2", "avx512f"});
  EXPECT_EQ(older.type, at::kFloat);
  EXPECT_EQ(older.reason, "the CPU has no fast bf16 products");
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
            fastest_cpu_precision(read_machine()).type);
}

TEST(ChoosePrecision, AResumedRunKeepsItsOwn) {
  const models::ModelOptions bert;
  EXPECT_EQ(choose_precision(Precision::kAuto, "bf16", bert, at::kCPU).type, at::kBFloat16);
  EXPECT_EQ(choose_precision(Precision::kAuto, "fp32", bert, at::kCPU).type, at::kFloat);
}

}  // namespace
}  // namespace weft::train
