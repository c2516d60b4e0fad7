#include "train/run/device.h"

#include <gtest/gtest.h>

namespace weft::train {
namespace {

TEST(ChoosePrecision, ABagOfWordsHasNothingToMeasure) {
  models::ModelOptions words;
  words.family = models::family_named("bag_of_words");
  EXPECT_EQ(determined_precision(Precision::kAuto, words), Precision::kFp32);
  EXPECT_EQ(choose_precision(Precision::kAuto, std::nullopt, words, at::kCPU).type, at::kFloat);
  EXPECT_EQ(choose_precision(Precision::kBf16, std::nullopt, words, at::kCPU).type, at::kBFloat16);
}

TEST(ChoosePrecision, AResumedRunKeepsItsOwn) {
  const models::ModelOptions bert;
  EXPECT_EQ(determined_precision(Precision::kAuto, bert), Precision::kAuto);
  EXPECT_EQ(choose_precision(Precision::kAuto, "bf16", bert, at::kCPU).type, at::kBFloat16);
  EXPECT_EQ(choose_precision(Precision::kAuto, "fp32", bert, at::kCPU).type, at::kFloat);
}

}  // namespace
}  // namespace weft::train
