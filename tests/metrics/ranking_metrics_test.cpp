#include "metrics/ranking_metrics.h"

#include <cmath>

#include <gtest/gtest.h>

#include "metrics/confusion_counts.h"

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
  EXPECT_DOUBLE_EQ(nan_mean({1, std::nan(""), 3}), 2);
  EXPECT_TRUE(std::isnan(nan_mean({std::nan("")})));
}

TEST(Ranking, TheBestThresholdIsHalfwayAndNearAHalf) {
  const std::vector<bool> truth = {false, false, true, true};
  const std::vector<double> scores = {0.1, 0.2, 0.3, 0.8};
  EXPECT_DOUBLE_EQ(best_threshold(truth, scores, ThresholdMetric::kF1), 0.25);
  EXPECT_DOUBLE_EQ(best_threshold(truth, scores, ThresholdMetric::kAccuracy), 0.25);
  EXPECT_DOUBLE_EQ(best_threshold(truth, scores, ThresholdMetric::kMatthews), 0.25);
  EXPECT_DOUBLE_EQ(best_threshold({}, {}, ThresholdMetric::kF1), 0.5);
  // No positives: predicting none is most accurate.
  EXPECT_GT(best_threshold({false, false}, {0.6, 0.9}, ThresholdMetric::kAccuracy), 0.9);
  // One miss either way: of the two equally good ones the nearer to 0.5.
  EXPECT_DOUBLE_EQ(best_threshold({true, false, true}, {0.9, 0.6, 0.2}, ThresholdMetric::kAccuracy),
                   0.75);
}

TEST(CalibrationError, IsTheGapOfEachBinWeighedByItsSize) {
  // Bin of 0.95: two rows, one right, gap |1.9 - 1| = 0.9; bin of 0.5: gap 0.5; over three rows.
  EXPECT_DOUBLE_EQ(expected_calibration_error({true, false, true}, {0.95, 0.95, 0.5}),
                   (0.9 + 0.5) / 3);
  // Gaps of one bin cancel, those of two do not.
  EXPECT_NEAR(expected_calibration_error({true, false}, {0.5, 0.5}), 0, 1e-12);
  EXPECT_NEAR(expected_calibration_error({true, false}, {0.4, 0.6}), 0.6, 1e-12);
  EXPECT_EQ(expected_calibration_error({}, {}), 0);
}

TEST(ConfusionCounts, AveragesAreMicroMacroAndWeighted) {
  ConfusionCounts counts(3);
  counts.add(0, 0);
  counts.add(0, 0);
  counts.add(0, 1);
  counts.add(1, 1);
  // Class 0: precision 1, recall 2/3, f1 0.8; class 1: precision 1/2, recall 1, f1 2/3.
  EXPECT_DOUBLE_EQ(counts.class_scores(0).f1, 0.8);
  EXPECT_DOUBLE_EQ(counts.micro().f1, 0.75);
  EXPECT_DOUBLE_EQ(counts.macro().f1, (0.8 + 2.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(counts.macro_over_present().f1, (0.8 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(counts.weighted().f1, (3 * 0.8 + 2.0 / 3) / 4);
}

// Values of scikit-learn 1.9 for the same examples, with equal scores and an edge of a bin.
TEST(Ranking, CurvesEqualScikitLearn) {
  const std::vector<bool> truth = {true, false, true, true, false, false, true};
  const std::vector<double> scores = {0.9, 0.8, 0.8, 0.55, 0.4, 0.1, 0.35};
  const auto roc = roc_curve(truth, scores);
  EXPECT_EQ(roc.x, (std::vector<double>{0, 0, 1.0 / 3, 1.0 / 3, 2.0 / 3, 2.0 / 3, 1}));
  EXPECT_EQ(roc.y, (std::vector<double>{0, 0.25, 0.5, 0.75, 0.75, 1, 1}));
  EXPECT_TRUE(std::isinf(roc.thresholds[0]));
  EXPECT_EQ(roc.thresholds[2], 0.8);
  const auto precision = precision_recall_curve(truth, scores);
  EXPECT_EQ(precision.x, (std::vector<double>{0.25, 0.5, 0.75, 0.75, 1, 1}));
  EXPECT_EQ(precision.y, (std::vector<double>{1, 2.0 / 3, 0.75, 0.6, 2.0 / 3, 4.0 / 7}));
  const auto bins = calibration_bins(truth, scores, 5);
  ASSERT_EQ(bins.size(), 5U);
  const std::vector<double> fractions = {0, 0.5, 1, 0.5, 1};
  const std::vector<double> means = {0.1, 0.375, 0.55, 0.8, 0.9};
  for (std::size_t i = 0; i < bins.size(); ++i) {
    EXPECT_DOUBLE_EQ(bins[i].positive_fraction, fractions[i]);
    EXPECT_DOUBLE_EQ(bins[i].mean_probability, means[i]);
  }
  EXPECT_TRUE(std::isnan(roc_curve({true}, {0.5}).x.back()));
}

}  // namespace
}  // namespace weft::metrics
