#include "metrics/ranking.h"

#include <cmath>

#include <gtest/gtest.h>

#include "metrics/calibration.h"
#include "metrics/tally.h"

namespace weft::metrics {
namespace {

TEST(Ranking, AreaIsTheShareOfPairsInOrder) {
  // Positives 0.9 and 0.4, negatives 0.5 and 0.4: pairs in order 1 + 1 + 0 + 0.5 of 4.
  EXPECT_DOUBLE_EQ(roc_auc({true, true, false, false}, {0.9, 0.4, 0.5, 0.4}), 2.5 / 4);
  EXPECT_TRUE(std::isnan(roc_auc({true, true}, {0.1, 0.2})));
}

TEST(Ranking, AveragePrecisionSumsTheGainsOfRecall) {
  // Positives at ranks 1 and 3: (1/1 + 2/3) / 2.
  EXPECT_DOUBLE_EQ(average_precision({true, false, true}, {0.9, 0.8, 0.7}), (1 + 2.0 / 3) / 2);
  EXPECT_TRUE(std::isnan(average_precision({false}, {0.5})));
}

TEST(Ranking, MeansPassOverWhatIsUndefined) {
  EXPECT_DOUBLE_EQ(mean_of_defined({1, std::nan(""), 3}), 2);
  EXPECT_TRUE(std::isnan(mean_of_defined({std::nan("")})));
}

TEST(Ranking, TheBestThresholdLiesHalfwayAndNearAHalf) {
  const std::vector<bool> truth = {false, false, true, true};
  const std::vector<double> scores = {0.1, 0.2, 0.3, 0.8};
  EXPECT_DOUBLE_EQ(best_threshold(truth, scores, ThresholdGoal::kF1), 0.25);
  EXPECT_DOUBLE_EQ(best_threshold(truth, scores, ThresholdGoal::kAccuracy), 0.25);
  EXPECT_DOUBLE_EQ(best_threshold(truth, scores, ThresholdGoal::kMatthews), 0.25);
  EXPECT_DOUBLE_EQ(best_threshold({}, {}, ThresholdGoal::kF1), 0.5);
  // Nothing is true: finding nothing is most accurate.
  EXPECT_GT(best_threshold({false, false}, {0.6, 0.9}, ThresholdGoal::kAccuracy), 0.9);
  // One miss either way: of the two equally good ones the nearer to 0.5.
  EXPECT_DOUBLE_EQ(best_threshold({true, false, true}, {0.9, 0.6, 0.2}, ThresholdGoal::kAccuracy),
                   0.75);
}

TEST(CalibrationError, IsTheGapOfEachBinWeighedByItsSize) {
  // Bin of 0.95: two rows, one right, gap |1.9 - 1| = 0.9; bin of 0.5: gap 0.5; over three rows.
  EXPECT_DOUBLE_EQ(calibration_error({true, false, true}, {0.95, 0.95, 0.5}), (0.9 + 0.5) / 3);
  // Gaps of one bin cancel, those of two do not.
  EXPECT_NEAR(calibration_error({true, false}, {0.5, 0.5}), 0, 1e-12);
  EXPECT_NEAR(calibration_error({true, false}, {0.4, 0.6}), 0.6, 1e-12);
  EXPECT_EQ(calibration_error({}, {}), 0);
}

TEST(Tally, AveragesAreMicroMacroAndWeighted) {
  Tally tally(3);
  tally.add(0, 0);
  tally.add(0, 0);
  tally.add(0, 1);
  tally.add(1, 1);
  // Class 0: precision 1, recall 2/3, f1 0.8; class 1: precision 1/2, recall 1, f1 2/3.
  EXPECT_DOUBLE_EQ(tally.of(0).f1, 0.8);
  EXPECT_DOUBLE_EQ(tally.micro().f1, 0.75);
  EXPECT_DOUBLE_EQ(tally.macro().f1, (0.8 + 2.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(tally.macro_of_present().f1, (0.8 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(tally.weighted().f1, (3 * 0.8 + 2.0 / 3) / 4);
}

}  // namespace
}  // namespace weft::metrics
