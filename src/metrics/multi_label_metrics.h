#pragma once

#include "metrics/predictions.h"

/// Metrics of multi-label classification; 0 without rows.
namespace weft::metrics {

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
