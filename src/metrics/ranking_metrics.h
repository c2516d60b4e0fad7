#pragma once

#include <vector>

namespace weft::metrics {

/// Area under the ROC curve: probability that a positive scores higher than a negative, ties
/// counting half. NaN without positives or without negatives.
double roc_auc(const std::vector<bool>& is_positive, const std::vector<double>& scores);

/// Sum over thresholds of precision times the increase in recall, as in scikit-learn; NaN without
/// positives.
double average_precision(const std::vector<bool>& is_positive, const std::vector<double>& scores);

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
