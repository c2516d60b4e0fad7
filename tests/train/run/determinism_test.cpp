#include "train/run/determinism.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/log.h"
#include "train/resume_rows.h"
#include "train/run/run_comparison.h"

namespace weft::train {
namespace {

class DeterminismTest : public ::testing::Test {
 protected:
  DeterminismTest() {
    log::set_level(log::Level::kError);
    test::write_row_files(small_);
  }
  test::SmallRun small_;
};

TEST_F(DeterminismTest, ThreadsChangeNoBit) {
  run_training(row_config(small_, test::kBaseRow, "base"), {});
  for (const auto& row : test::kResumeRows) {
    const std::vector<std::string> wide = {"train.duration=4 steps", "train.batch_tokens=2000"};
    run_training(row_config(small_, row, "one", wide), {});
    for (const auto* threads : {"train.threads=2", "train.threads=5"}) {
      auto more = wide;
      more.emplace_back(threads);
      run_training(row_config(small_, row, "more", more), {});
      const auto comparison = compare_runs(small_.path("one"), small_.path("more"), 4);
      EXPECT_TRUE(comparison.is_equal())
          << row.name << ", " << threads << ": " << comparison.differences.front();
      std::filesystem::remove_all(small_.path("more"));
    }
    std::filesystem::remove_all(small_.path("one"));
  }
}

TEST_F(DeterminismTest, ClockIsFoundWhereverItDecides) {
  for (const auto* key :
       {"train.duration", "train.schedule.warmup", "train.evaluate_every", "train.log_every"}) {
    const auto config =
        row_config(small_, test::kResumeRows.front(), "run", {std::string(key) + "=3 minutes"});
    EXPECT_EQ(clock_key(config.train), std::string(key) + ": 3 minutes");
  }
  EXPECT_EQ(clock_key(row_config(small_, test::kResumeRows.front(), "run").train), "");
}

}  // namespace
}  // namespace weft::train
