#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
  int64_t positive = 1;  // of two classes, the one that metrics of a single class are about
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

// Metrics of regression.

/// 0 without rows.
double mean_squared_error(const ValuePredictions& predictions);
double mean_absolute_error(const ValuePredictions& predictions);
/// NaN if either side is constant or there are fewer than two rows.
double value_pearson(const ValuePredictions& predictions);
double value_spearman(const ValuePredictions& predictions);

// Metrics of single-label classification; 0 without rows, where nothing else is said.

double class_loss(const ClassPredictions& predictions);
double class_accuracy(const ClassPredictions& predictions);
/// Of two classes those of the positive one, of more the mean over the classes that occur.
double class_precision(const ClassPredictions& predictions);
double class_recall(const ClassPredictions& predictions);
double class_f1(const ClassPredictions& predictions);
/// Mean over the classes that occur; weighted by support.
double class_f1_macro(const ClassPredictions& predictions);
double class_f1_weighted(const ClassPredictions& predictions);
double class_matthews(const ClassPredictions& predictions);
/// Fraction of rows whose label is among the five most likely, ties go to the first; only for more
/// than five classes.
std::optional<double> top5_accuracy(const ClassPredictions& predictions);
/// Mean of accuracy and F1, as in GLUE for MRPC and QQP; only for two classes.
std::optional<double> class_combined_score(const ClassPredictions& predictions);
/// Of two classes those of the positive one, of more the mean over all that are defined.
double class_roc_auc(const ClassPredictions& predictions);
double class_average_precision(const ClassPredictions& predictions);
/// Calibration error of the predicted class.
double class_ece(const ClassPredictions& predictions);
/// Of two classes that of the positive one, of more the sum over all, as in scikit-learn.
double class_brier_score(const ClassPredictions& predictions);

/// Mean recall over the classes that occur among the labels, as in scikit-learn; 0 without rows.
double balanced_accuracy(const ClassPredictions& predictions);

// Metrics of multi-label classification; 0 without rows.

double label_loss(const MultiLabelPredictions& predictions);
/// Fraction of rows with all labels right.
double subset_accuracy(const MultiLabelPredictions& predictions);
/// Fraction of wrong decisions.
double hamming_loss(const MultiLabelPredictions& predictions);
/// Of the pooled decisions.
double micro_precision(const MultiLabelPredictions& predictions);
double micro_recall(const MultiLabelPredictions& predictions);
double micro_f1(const MultiLabelPredictions& predictions);
/// Mean over all classes; weighted by support.
double label_f1_macro(const MultiLabelPredictions& predictions);
double label_f1_weighted(const MultiLabelPredictions& predictions);
/// Mean over the classes for which they are defined; NaN if there are none.
double label_roc_auc(const MultiLabelPredictions& predictions);
double label_average_precision(const MultiLabelPredictions& predictions);
/// Of all decisions.
double label_ece(const MultiLabelPredictions& predictions);
double label_brier_score(const MultiLabelPredictions& predictions);

}  // namespace weft::metrics
