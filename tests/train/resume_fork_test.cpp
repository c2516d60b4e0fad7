// A run that goes on in another process is the same run: every config of resume_rows.h.
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/activation_probe.h"
#include "train/forked_runs.h"
#include "train/resume_rows.h"
#include "train/run/run_comparison.h"
#include "train/run/verify_resume.h"

namespace weft::train {
namespace {

using test::ChildTraining;
using test::kDone;
using test::kResumeRows;
using test::kStopped;
using test::kUser;
using test::ResumeRow;
using test::row_config;

class ResumeTest : public test::ForkedRuns, public ::testing::WithParamInterface<ResumeRow> {
 protected:
  ResumeTest() { test::write_row_files(small_); }

  void SetUp() override {
    if (GetParam().is_fine_tuned) {
      ASSERT_EQ(train(row_config(small_, test::kBaseRow, "base")), kDone) << said();
    }
  }

  RunConfig row(const std::string& directory, int workers) const {
    return row_config(small_, GetParam(), directory, {"data.workers=" + std::to_string(workers)});
  }

  /// Until the step is done, then as after a signal.
  static TrainRequest until(int64_t step) {
    return {
        .on_step = [step](const TrainState& state) { request_stop(state.clock.steps == step); }};
  }

  void expect_equal(const std::string& run, const std::string& what) const {
    const auto comparison = compare_runs(small_.path("straight"), small_.path(run), 40);
    EXPECT_GT(comparison.tensors, 20) << what;
    EXPECT_GE(comparison.lines, 13) << what;
    for (const auto& difference : comparison.differences) {
      ADD_FAILURE() << what << ": " << difference;
    }
  }
};

TEST_P(ResumeTest, HalvesInTwoProcessesEqualTheWholeWhateverTheWorkers) {
  ASSERT_EQ(train(row("straight", 0)), kDone) << said();
  for (const int workers : {0, 1, 3}) {
    const auto run = "run" + std::to_string(workers);
    ASSERT_EQ(train(row(run, workers), ChildTraining{.request = until(20)}), kStopped) << said();
    const auto half = newest_valid_checkpoint(small_.path(run));
    ASSERT_TRUE(half);
    EXPECT_EQ(half->state.clock.steps, 20);
    EXPECT_GT(half->state.cursor.position, 0) << "an epoch ends here: the test shows less";
    ASSERT_EQ(train(row(run, workers)), kDone) << said();
    expect_equal(run, run);
  }
}

std::string name_of(const ::testing::TestParamInfo<ResumeRow>& info) {
  std::string name;
  for (const char letter : info.param.name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      name += letter;
    }
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Rows, ResumeTest, ::testing::ValuesIn(kResumeRows), name_of);

/// Asks for a stop in the midst of a step: where a part is met for so many times once it is on. A
/// process that is forked later has it too.
class StopInPart : public nn::ActivationProbe {
 public:
  StopInPart(std::string part, int times) : part_(std::move(part)), times_(times) {}

  at::Tensor see(const std::string& part, const at::Tensor& x) override {
    if (is_on && part == part_ && --times_ == 0) {
      request_stop(true);
    }
    return x;
  }

  bool is_on = false;

 private:
  std::string part_;
  int times_;
};

class StopTest : public test::ForkedRuns {
 protected:
  StopTest() { test::write_row_files(small_); }
};

// Steps of twenty micro-batches: the wish to stop comes in the fourth of one.
TEST_F(StopTest, InTheMidstOfAccumulationIsBrokenOffAndDoneAgain) {
  for (const auto* precision : {"train.precision=fp32", "train.precision=bf16"}) {
    const std::vector<std::string> cut = {"train.micro_batch_tokens=24", "train.batch_tokens=480",
                                          "train.duration=12 steps", "train.log_every=1 steps",
                                          precision};
    const auto row = test::kResumeRows.front();
    ASSERT_EQ(train(row_config(small_, row, "straight", cut)), kDone) << said();
    StopInPart probe("layers.1", 4);
    const TrainRequest midst = {
        .on_step = [&probe](const TrainState& state) { probe.is_on = state.clock.steps == 5; }};
    ASSERT_EQ(train(row_config(small_, row, "run", cut), ChildTraining{.request = midst}), kStopped)
        << said();
    EXPECT_EQ(newest("run"), 5) << "the stop came after the step\n" << said();
    ASSERT_EQ(train(row_config(small_, row, "run", cut)), kDone) << said();
    const auto comparison = compare_runs(small_.path("straight"), small_.path("run"), 12);
    EXPECT_TRUE(comparison.is_equal()) << comparison.differences.front();
    std::filesystem::remove_all(small_.path("run"));
    std::filesystem::remove_all(small_.path("straight"));
  }
}

TEST_F(StopTest, VerifyResumeProvesAUsersConfig) {
  const auto config = row_config(small_, kResumeRows[3], "run");
  const auto proof = verify_resume(config, 11);
  EXPECT_EQ(proof.steps, 11);
  EXPECT_EQ(proof.half, 5);
  EXPECT_TRUE(proof.comparison.is_equal()) << proof.comparison.differences.front();
  EXPECT_GT(proof.comparison.tensors, 20);
  EXPECT_EQ(proof.comparison.lines, 3);
  EXPECT_FALSE(std::filesystem::exists(small_.path("run")));
  EXPECT_EQ(verify_resume(config, 1000).steps, 40) << "a run's own end is the proof's";
}

TEST_F(StopTest, VerifyResumeRefusesTheClockAndTellsOfAFailure) {
  const auto timed = row_config(small_, kResumeRows[0], "run", {"train.duration=1 minutes"});
  EXPECT_THROW(verify_resume(timed, 4), UserError);
  small_.folder().write("gone.txt", small_.file("train.txt"));
  const auto config = row_config(small_, kResumeRows[0], "run",
                                 {"data.train=[{path: " + small_.path("gone.txt") + "}]"});
  std::filesystem::remove(small_.path("gone.txt"));
  try {
    verify_resume(config, 4);
    FAIL() << "a file that is gone was read";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("a training failed: error: "), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("gone.txt"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace weft::train
