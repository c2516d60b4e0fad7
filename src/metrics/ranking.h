#pragma once

#include <vector>

namespace weft::metrics {

/// Area under the ROC curve: how often a positive has a higher score than a negative, ties counting
/// half. NaN where one of the two is missing.
double roc_auc(const std::vector<bool>& is_positive, const std::vector<double>& scores);

/// Sum over the thresholds of precision times the gain of recall, as scikit-learn has it; NaN
/// without a positive.
double average_precision(const std::vector<bool>& is_positive, const std::vector<double>& scores);

/// The mean of the figures that are not NaN; NaN where all are.
double mean_of_defined(const std::vector<double>& figures);

enum class ThresholdGoal { kF1, kAccuracy, kMatthews };

/// The threshold (a score from it on is a yes) with the best figure over all decisions, halfway
/// between two neighbouring scores; of equally good ones the nearest to 0.5. 0.5 without scores.
double best_threshold(const std::vector<bool>& is_positive,
                      const std::vector<double>& scores,
                      ThresholdGoal goal);

}  // namespace weft::metrics
