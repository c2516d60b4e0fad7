#pragma once

#include <vector>

namespace weft::metrics {

/// Area under the ROC curve: probability that a positive scores higher than a negative, ties
/// counting half. NaN without positives or without negatives.
double roc_auc(const std::vector<bool>& is_positive, const std::vector<double>& scores);

/// Sum over thresholds of precision times the increase in recall, as in scikit-learn; NaN without
/// positives.
double average_precision(const std::vector<bool>& is_positive, const std::vector<double>& scores);

/// Points of a curve over the thresholds, from the highest to the lowest: scores >= a threshold are
/// positive.
struct ThresholdCurve {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> thresholds;
};

/// False positive rate (x) and true positive rate (y), as scikit-learn's roc_curve without
/// drop_intermediate: it begins at (0, 0) with an infinite threshold. NaN without positives or
/// without negatives.
ThresholdCurve roc_curve(const std::vector<bool>& is_positive, const std::vector<double>& scores);

/// Recall (x) and precision (y), the points of scikit-learn's precision_recall_curve in the order
/// of falling thresholds, without its last one at recall 0. The recall is 1 without positives.
ThresholdCurve precision_recall_curve(const std::vector<bool>& is_positive,
                                      const std::vector<double>& scores);

/// Examples whose probability is in the same one of equal parts of [0, 1].
struct CalibrationBin {
  double mean_probability = 0;
  double positive_fraction = 0;
  double count = 0;
};
/// The bins that have examples, as scikit-learn's calibration_curve with strategy="uniform".
std::vector<CalibrationBin> calibration_bins(const std::vector<bool>& is_positive,
                                             const std::vector<double>& probabilities,
                                             int bins);

/// Mean of the metrics that are not NaN; NaN if all are.
double nan_mean(const std::vector<double>& metrics);

enum class ThresholdMetric { kF1, kAccuracy, kMatthews };

/// Returns the threshold (scores >= it are positive) with the best metric over all decisions,
/// halfway between two adjacent scores; ties go to the one closest to 0.5. 0.5 without scores.
double best_threshold(const std::vector<bool>& is_positive,
                      const std::vector<double>& scores,
                      ThresholdMetric metric);

/// Expected calibration error (arXiv:1706.04599, equation 3): the mean gap between confidence and
/// accuracy over 15 equal-width bins of the confidence, weighted by bin size.
double expected_calibration_error(const std::vector<bool>& is_correct,
                                  const std::vector<double>& probabilities);

}  // namespace weft::metrics
