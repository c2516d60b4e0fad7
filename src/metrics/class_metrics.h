#pragma once

#include <optional>

#include "metrics/predictions.h"

/// Metrics of single-label classification; 0 without rows, where nothing else is said.
namespace weft::metrics {

double class_loss(const ClassPredictions& predictions);
double class_accuracy(const ClassPredictions& predictions);
/// Of two classes those of the second, of more the mean over the classes that occur.
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
/// Of two classes those of the second, of more the mean over all that are defined.
double class_roc_auc(const ClassPredictions& predictions);
double class_average_precision(const ClassPredictions& predictions);
/// Calibration error of the predicted class.
double class_ece(const ClassPredictions& predictions);
/// Of two classes that of the second, of more the sum over all, as in scikit-learn.
double class_brier_score(const ClassPredictions& predictions);

}  // namespace weft::metrics
