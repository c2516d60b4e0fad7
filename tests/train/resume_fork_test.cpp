// A run resumed in another process equals the uninterrupted run: every config of resume_cases.h.
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/activation_hook.h"
#include "train/forked_runs.h"
#include "train/resume_cases.h"
#include "train/run/reproduce.h"

namespace weft::train {
namespace {

using test::case_config;
using test::ChildTraining;
using test::kDone;
using test::kResumeCases;
using test::kStopped;
using test::kUser;
using test::ResumeCase;

class ResumeTest : public test::ForkedRuns, public ::testing::WithParamInterface<ResumeCase> {
 protected:
  ResumeTest() { test::write_case_files(small_); }

  void SetUp() override {
    if (GetParam().is_fine_tuned) {
      ASSERT_EQ(train(case_config(small_, test::kBaseCase, "base")), kDone) << stderr_text();
    }
  }

  RunConfig row(const std::string& directory, int workers) const {
    return case_config(small_, GetParam(), directory,
                       {"data.num_workers=" + std::to_string(workers)});
  }

  /// Until the step is done, then as after a signal.
  static TrainRequest until(int64_t step) {
    return {
        .on_step = [step](const TrainState& state) { request_stop(state.progress.steps == step); }};
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
  ASSERT_EQ(train(row("straight", 0)), kDone) << stderr_text();
  for (const int workers : {0, 1, 3}) {
    const auto run = "run" + std::to_string(workers);
    ASSERT_EQ(train(row(run, workers), ChildTraining{.request = until(20)}), kStopped)
        << stderr_text();
    const auto half = newest_valid_checkpoint(small_.path(run));
    ASSERT_TRUE(half);
    EXPECT_EQ(half->state.progress.steps, 20);
    EXPECT_GT(half->state.cursor.position, 0) << "an epoch ends here: the test shows less";
    ASSERT_EQ(train(row(run, workers)), kDone) << stderr_text();
    expect_equal(run, run);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows,
                         ResumeTest,
                         ::testing::ValuesIn(kResumeCases),
                         test::resume_case_name);

/// Asks for a stop in the middle of a step: where a part is met for so many times once it is on. A
/// process that is forked later has it too.
class StopInModule : public nn::ActivationHook {
 public:
  StopInModule(std::string part, int times) : part_(std::move(part)), times_(times) {}

  at::Tensor on_activation(const std::string& part, const at::Tensor& x) override {
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
  StopTest() { test::write_case_files(small_); }
};

// Steps of twenty micro-batches: the stop request comes in the fourth of one.
TEST_F(StopTest, DuringAccumulationIsAbortedAndRepeated) {
  for (const auto* precision : {"train.precision=fp32", "train.precision=bf16"}) {
    const std::vector<std::string> cut = {"train.micro_batch_tokens=24", "train.batch_tokens=480",
                                          "train.duration=12 steps", "train.log_every=1 steps",
                                          precision};
    const auto row = test::kResumeCases.front();
    ASSERT_EQ(train(case_config(small_, row, "straight", cut)), kDone) << stderr_text();
    StopInModule probe("layers.1", 4);
    const TrainRequest stopping = {
        .on_step = [&probe](const TrainState& state) { probe.is_on = state.progress.steps == 5; }};
    ASSERT_EQ(train(case_config(small_, row, "run", cut), ChildTraining{.request = stopping}),
              kStopped)
        << stderr_text();
    EXPECT_EQ(newest("run"), 5) << "the stop came after the step\n" << stderr_text();
    ASSERT_EQ(train(case_config(small_, row, "run", cut)), kDone) << stderr_text();
    const auto comparison = compare_runs(small_.path("straight"), small_.path("run"), 12);
    EXPECT_TRUE(comparison.is_equal()) << comparison.differences.front();
    std::filesystem::remove_all(small_.path("run"));
    std::filesystem::remove_all(small_.path("straight"));
  }
}

TEST_F(StopTest, VerifyResumeChecksAUsersConfig) {
  const auto config = case_config(small_, kResumeCases[3], "run");
  const auto check = verify_resume(config, 11);
  EXPECT_EQ(check.steps, 11);
  EXPECT_EQ(check.half, 5);
  EXPECT_TRUE(check.comparison.is_equal()) << check.comparison.differences.front();
  EXPECT_GT(check.comparison.tensors, 20);
  EXPECT_EQ(check.comparison.lines, 3);
  EXPECT_FALSE(std::filesystem::exists(small_.path("run")));
  EXPECT_EQ(verify_resume(config, 1000).steps, 40) << "stops at the end of the run";
}

TEST_F(StopTest, VerifyResumeRefusesTheClockAndTellsOfAFailure) {
  const auto timed = case_config(small_, kResumeCases[0], "run", {"train.duration=1 minutes"});
  EXPECT_THROW(verify_resume(timed, 4), UserError);
  small_.folder().write("gone.txt", small_.file("train.txt"));
  const auto config = case_config(small_, kResumeCases[0], "run",
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
