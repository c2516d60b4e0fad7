#include "train/run/reproduce.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/log.h"
#include "support/config.h"
#include "train/run/run_record.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

namespace fs = std::filesystem;

class ReproduceTest : public ::testing::Test {
 protected:
  ReproduceTest() { log::set_level(log::Level::kError); }

  void train(const std::vector<std::string>& more = {}) const {
    run_training(small_.config("classify", "run", more), {});
  }
  std::string refusal() const {
    return test::message_of<UserError>([&] { reproduce_run(small_.path("run"), {}); });
  }

  test::SmallRun small_;
};

TEST_F(ReproduceTest, RepeatsTheRunBitForBit) {
  train({"train.evaluate_every=4 steps"});
  const auto reproduction = reproduce_run(small_.path("run"), std::nullopt);
  EXPECT_EQ(reproduction.step, 8);
  EXPECT_EQ(reproduction.directory, small_.path("run-repeat"));
  EXPECT_TRUE(reproduction.comparison.is_equal()) << reproduction.comparison.differences.front();
  EXPECT_GT(reproduction.comparison.tensors, 20);
  EXPECT_TRUE(fs::exists(small_.path("run-repeat/checkpoint-8")));
  const auto named = reproduce_run(small_.path("run"), small_.path("named"));
  EXPECT_EQ(named.directory, small_.path("named"));
}

TEST_F(ReproduceTest, RepeatsUpToTheLastStepOfTheRun) {
  ASSERT_TRUE(test::train_until(small_.config("classify", "run"), 5));
  const auto reproduction = reproduce_run(small_.path("run"), std::nullopt);
  EXPECT_EQ(reproduction.step, 5);
  EXPECT_TRUE(reproduction.comparison.is_equal()) << reproduction.comparison.differences.front();
}

TEST_F(ReproduceTest, ReportsDifferences) {
  train();
  auto record = read_run_record(small_.path("run"));
  run_training(small_.config("classify", "other", {"run.seed=8"}), {});
  fs::remove_all(small_.path("run/checkpoint-8"));
  fs::copy(small_.path("other/checkpoint-8"), small_.path("run/checkpoint-8"),
           fs::copy_options::recursive);
  const auto reproduction = reproduce_run(small_.path("run"), std::nullopt);
  ASSERT_FALSE(reproduction.comparison.is_equal());
  EXPECT_NE(reproduction.comparison.differences.front().find("elements differ, by at most "),
            std::string::npos)
      << reproduction.comparison.differences.front();
}

TEST_F(ReproduceTest, RefusesOtherDataConfigsAndClocks) {
  train();
  EXPECT_NE(test::message_of<UserError>([&] {
              reproduce_run(small_.path("run"), small_.path("run"));
            }).find("is the run itself"),
            std::string::npos);
  const auto rows = small_.file("train.tsv");
  small_.folder().write("train.tsv", rows + "the red fox\tyes\n");
  EXPECT_NE(refusal().find("the training data are not those of the run (checksum "),
            std::string::npos);
  EXPECT_FALSE(fs::exists(small_.path("run-repeat/checkpoint-8")));
  small_.folder().write("train.tsv", rows);
  fs::remove_all(small_.path("run-repeat"));
  const auto held_out = small_.file("held_out.tsv");
  small_.folder().write("held_out.tsv", held_out + "the red fox\tyes\n");
  EXPECT_NE(refusal().find("the evaluation data are not"), std::string::npos);
  small_.folder().write("held_out.tsv", held_out);
  train({"train.duration=10 steps"});
  EXPECT_NE(refusal().find("differs from the config at the start of the run"), std::string::npos);
  fs::remove(small_.path("run/run.json"));
  EXPECT_NE(refusal().find("run.json: not found"), std::string::npos);
  run_training(small_.config("classify", "run", {"train.log_every=1 minutes"}),
               {.resume = Resume::kNever});
  EXPECT_NE(refusal().find("train.log_every: 1 minutes: the run depends on wall-clock time"),
            std::string::npos);
}

TEST_F(ReproduceTest, RecordHasEveryProcess) {
  ASSERT_TRUE(test::train_until(small_.config("classify", "run"), 4));
  auto record = read_run_record(small_.path("run"));
  EXPECT_EQ(record.precision, "fp32");
  EXPECT_EQ(record.machine.threads, 1);
  EXPECT_NE(record.machine.libtorch.find("LibTorch"), std::string::npos);
  EXPECT_NE(record.weights, 0U);
  EXPECT_NE(record.evaluation_data, 0U);
  EXPECT_TRUE(record.resumes.empty());
  train({"train.threads=2"});
  record = read_run_record(small_.path("run"));
  ASSERT_EQ(record.resumes.size(), 1U);
  EXPECT_EQ(record.resumes.front().step, 4);
  EXPECT_EQ(record.resumes.front().machine.threads, 2);
  const auto log = small_.file("run/train.log");
  for (const auto& fact :
       {record.machine.libtorch, record.machine.features, record.machine.kernels}) {
    EXPECT_NE(log.find(fact), std::string::npos) << fact;
  }
  for (const auto checksum :
       {record.config, record.data, record.evaluation_data, record.tokenizer, record.weights}) {
    EXPECT_EQ(log.find(to_hex(checksum)), std::string::npos) << "only in run.json";
  }
}

}  // namespace
}  // namespace weft::train
