#include <cstddef>
#include <numeric>
#include <vector>

#include "metrics/metrics.h"
#include "metrics/predictions.h"
#include "metrics/ranking_metrics.h"

namespace weft::metrics {

namespace {

/// Number of wrong decisions of a row.
double label_errors(const MultiLabelPredictions& predictions, std::size_t row) {
  double errors = 0;
  for (std::size_t name = 0; name < predictions.labels[row].size(); ++name) {
    errors += predictions.labels[row][name] == predictions.predictions[row][name] ? 0 : 1;
  }
  return errors;
}

double label_rows(const MultiLabelPredictions& predictions) {
  return static_cast<double>(predictions.labels.size());
}

double mean_over_labels(const MultiLabelPredictions& predictions,
                        double (*metric)(const std::vector<bool>&, const std::vector<double>&)) {
  std::vector<double> values;
  for (int64_t name = 0; name < predictions.classes; ++name) {
    values.push_back(metric(predictions.is_label(name), predictions.scores(name)));
  }
  return nan_mean(values);
}

}  // namespace

double label_loss(const MultiLabelPredictions& predictions) {
  return safe_divide(std::accumulate(predictions.losses.begin(), predictions.losses.end(), 0.0),
                     label_rows(predictions));
}

double subset_accuracy(const MultiLabelPredictions& predictions) {
  double whole = 0;
  for (std::size_t row = 0; row < predictions.labels.size(); ++row) {
    whole += label_errors(predictions, row) == 0 ? 1 : 0;
  }
  return safe_divide(whole, label_rows(predictions));
}

double hamming_loss(const MultiLabelPredictions& predictions) {
  double wrong = 0;
  for (std::size_t row = 0; row < predictions.labels.size(); ++row) {
    wrong += label_errors(predictions, row);
  }
  return safe_divide(wrong, label_rows(predictions) * static_cast<double>(predictions.classes));
}

double micro_precision(const MultiLabelPredictions& predictions) {
  return predictions.counts.micro().precision;
}

double micro_recall(const MultiLabelPredictions& predictions) {
  return predictions.counts.micro().recall;
}

double micro_f1(const MultiLabelPredictions& predictions) { return predictions.counts.micro().f1; }

double label_f1_macro(const MultiLabelPredictions& predictions) {
  return predictions.counts.macro().f1;
}

double label_f1_weighted(const MultiLabelPredictions& predictions) {
  return predictions.counts.weighted().f1;
}

double label_roc_auc(const MultiLabelPredictions& predictions) {
  return mean_over_labels(predictions, roc_auc);
}

double label_average_precision(const MultiLabelPredictions& predictions) {
  return mean_over_labels(predictions, average_precision);
}

double label_ece(const MultiLabelPredictions& predictions) {
  return expected_calibration_error(predictions.all_labels(), predictions.all_scores());
}

double label_brier_score(const MultiLabelPredictions& predictions) {
  const auto labels = predictions.all_labels();
  const auto scores = predictions.all_scores();
  double squares = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double gap = scores[i] - (labels[i] ? 1 : 0);
    squares += gap * gap;
  }
  return safe_divide(squares, static_cast<double>(scores.size()));
}

}  // namespace weft::metrics
