#pragma once

#include <cstdint>
#include <vector>

#include "formats/json.h"
#include "metrics/metrics.h"

namespace weft::metrics {

/// Confusion counts per class, for precision, recall and F1.
class ConfusionCounts {
 public:
  explicit ConfusionCounts(int64_t classes);

  /// Adds an example with its label and its predicted class.
  void add(int64_t actual, int64_t predicted);
  /// Adds a binary decision for the class `name`.
  void add_binary(int64_t name, bool is_actual, bool is_predicted);

  int64_t classes() const { return static_cast<int64_t>(actual_.size()); }
  double true_positives(int64_t name) const {
    return true_positives_[static_cast<std::size_t>(name)];
  }
  double predicted(int64_t name) const { return predicted_[static_cast<std::size_t>(name)]; }
  /// Number of examples whose label is this class.
  double support(int64_t name) const { return actual_[static_cast<std::size_t>(name)]; }

  /// 0 if a denominator is 0, as in scikit-learn.
  ClassScores class_scores(int64_t name) const;
  /// Scores of the pooled counts.
  ClassScores micro() const;
  /// Unweighted mean over all classes, or over those that occur among labels or predictions.
  ClassScores macro() const;
  ClassScores macro_over_present() const;
  /// Mean over the classes, weighted by support.
  ClassScores weighted() const;

 private:
  ClassScores mean(const std::vector<double>& weights) const;

  std::vector<double> true_positives_;
  std::vector<double> predicted_;
  std::vector<double> actual_;
};

/// One entry of `per_class`.
formats::Json score_json(const ClassScores& scores, double support);

}  // namespace weft::metrics
