#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "metrics/confusion_counts.h"

namespace weft::metrics {

/// Single-label predictions, in item order.
struct ClassPredictions {
  explicit ClassPredictions(int64_t number_of_classes)
      : classes(number_of_classes), counts(number_of_classes) {}

  /// Whether the label of each row is this class, and its probability in each row.
  std::vector<bool> is_label(int64_t name) const;
  std::vector<double> scores(int64_t name) const;

  int64_t classes;
  std::vector<int64_t> labels;
  std::vector<int64_t> predictions;
  std::vector<std::vector<float>> logits;          // (rows, classes)
  std::vector<std::vector<double>> probabilities;  // (rows, classes)
  std::vector<double> losses;                      // of each row
  ConfusionCounts counts;                          // of labels and predictions
};

/// Multi-label predictions, in item order: a decision for each row and class.
struct MultiLabelPredictions {
  explicit MultiLabelPredictions(int64_t number_of_classes)
      : classes(number_of_classes), counts(number_of_classes) {}

  /// Whether each row has this label, and the label's probability in each row.
  std::vector<bool> is_label(int64_t name) const;
  std::vector<double> scores(int64_t name) const;
  /// The same of all classes, row by row.
  std::vector<bool> all_labels() const;
  std::vector<double> all_scores() const;

  int64_t classes;
  std::vector<std::vector<bool>> labels;           // (rows, classes)
  std::vector<std::vector<bool>> predictions;      // (rows, classes)
  std::vector<std::vector<double>> probabilities;  // (rows, classes)
  std::vector<double> losses;                      // of each row
  ConfusionCounts counts;                          // of all decisions
};

/// Predictions of one number, in item order.
struct ValuePredictions {
  std::vector<double> targets;
  std::vector<double> predictions;
};

}  // namespace weft::metrics
