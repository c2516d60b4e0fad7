#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "train/run/train.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

class StepLogTest : public ::testing::Test {
 protected:
  /// What the groups of the pattern found in train.log after the run.
  std::vector<std::string> matches(const std::string& pattern) const {
    const auto log = small_.file("run/train.log");
    const std::regex regex(pattern);
    std::vector<std::string> found;
    for (auto it = std::sregex_iterator(log.begin(), log.end(), regex);
         it != std::sregex_iterator(); ++it) {
      found.push_back((*it)[1]);
    }
    return found;
  }

  void train(const std::string& kind, const std::vector<std::string>& overrides) const {
    const test::CapturedStderr captured;
    run_training(small_.config(kind, "run", overrides), {});
  }

  test::SmallRun small_;
};

// However fast the steps are; the first step has a line, but no metrics of its own.
TEST_F(StepLogTest, LinesAreThoseOfLogEveryTheFirstAndTheLast) {
  train("mlm", {"train.log_every=3 steps"});
  EXPECT_EQ(matches("\\[train\\] step (\\d+)/8  epoch \\d+\\.\\d\\d  loss "),
            (std::vector<std::string>{"1", "3", "6", "8"}));
  std::vector<int64_t> steps;
  for (const auto& [step, loss] : small_.values("run", "train/loss")) {
    steps.push_back(step);
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{3, 6, 8}));
}

TEST_F(StepLogTest, EachStepIsLoggedOnce) {
  train("mlm", {"train.log_every=1 steps"});
  EXPECT_EQ(matches("\\[train\\] step (\\d+)/8").size(), 8U);
}

TEST_F(StepLogTest, EvaluationShowsTheSelectionMetricAndItsBestValue) {
  for (const auto* keep : {"run.keep.best=1", "run.keep.best=0"}) {
    train("mlm", {"train.evaluate_every=4 steps", keep});
    EXPECT_EQ(matches("\\[evaluate\\] step (\\d+)  epoch \\d").size(), 2U);
    EXPECT_EQ(matches("best eval_loss [0-9.]+ (\\(improved\\))").size(), 1U);
    EXPECT_EQ(matches("best eval_loss [0-9.]+ (\\(improved from [0-9.]+\\))").size(), 1U);
    std::filesystem::remove_all(small_.path("run"));
  }
}

TEST_F(StepLogTest, EvaluationWithoutImprovementNamesTheBestStep) {
  train("mlm", {"train.evaluate_every=4 steps", "train.optimizer.lr=1e-20"});
  EXPECT_EQ(matches("best eval_loss [0-9.]+ at (step 4 \\(not improved\\))").size(), 1U);
}

}  // namespace
}  // namespace weft::train
