#include "train/run/determinism.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/log.h"
#include "train/resume_cases.h"
#include "train/run/reproduce.h"

namespace weft::train {
namespace {

class DeterminismTest : public ::testing::Test {
 protected:
  DeterminismTest() {
    log::set_level(log::Level::kError);
    test::write_case_files(small_);
  }
  test::SmallRun small_;
};

class ThreadsTest : public DeterminismTest,
                    public ::testing::WithParamInterface<test::ResumeCase> {};

TEST_P(ThreadsTest, ChangeNoBit) {
  const auto& row = GetParam();
  if (row.is_fine_tuned) {
    run_training(case_config(small_, test::kBaseCase, "base"), {});
  }
  std::vector<std::string> wide = {"train.duration=4 steps"};
  if (std::ranges::find(row.overrides, "train.batch_tokens=null") == row.overrides.end()) {
    wide.emplace_back("train.batch_tokens=2000");
  }
  run_training(case_config(small_, row, "one", wide), {});
  for (const auto* threads : {"train.threads=2", "train.threads=5"}) {
    auto more = wide;
    more.emplace_back(threads);
    run_training(case_config(small_, row, "more", more), {});
    const auto comparison = compare_runs(small_.path("one"), small_.path("more"), 4);
    EXPECT_TRUE(comparison.is_equal())
        << row.name << ", " << threads << ": " << comparison.differences.front();
    std::filesystem::remove_all(small_.path("more"));
  }
}

INSTANTIATE_TEST_SUITE_P(Rows,
                         ThreadsTest,
                         ::testing::ValuesIn(test::kResumeCases),
                         test::resume_case_name);

TEST_F(DeterminismTest, DependenceOnWallClockTimeIsDetected) {
  for (const auto* key :
       {"train.duration", "train.schedule.warmup", "train.evaluate_every", "train.log_every"}) {
    const auto config =
        case_config(small_, test::kResumeCases.front(), "run", {std::string(key) + "=3 minutes"});
    EXPECT_EQ(wall_clock_key(config.train), std::string(key) + ": 3 minutes");
  }
  EXPECT_EQ(wall_clock_key(case_config(small_, test::kResumeCases.front(), "run").train), "");
}

}  // namespace
}  // namespace weft::train
