#include <cstddef>
#include <numeric>
#include <vector>

#include "metrics/metrics.h"
#include "metrics/predictions.h"
#include "metrics/ranking_metrics.h"

namespace weft::metrics {

namespace {

/// All classes; of two only the positive one, which the other one mirrors.
std::vector<int64_t> scored_classes(const ClassPredictions& predictions) {
  if (predictions.classes == 2) {
    return {predictions.positive};
  }
  std::vector<int64_t> all(static_cast<std::size_t>(predictions.classes));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

ClassScores class_scores_of(const ClassPredictions& predictions) {
  return predictions.classes == 2 ? predictions.counts.class_scores(predictions.positive)
                                  : predictions.counts.macro_over_present();
}

double mean_over_rows(double sum, const ClassPredictions& predictions) {
  return safe_divide(sum, static_cast<double>(predictions.labels.size()));
}

double mean_over_classes(const ClassPredictions& predictions,
                         double (*metric)(const std::vector<bool>&, const std::vector<double>&)) {
  std::vector<double> values;
  for (const auto name : scored_classes(predictions)) {
    values.push_back(metric(predictions.is_label(name), predictions.scores(name)));
  }
  return nan_mean(values);
}

}  // namespace

double class_loss(const ClassPredictions& predictions) {
  return mean_over_rows(std::accumulate(predictions.losses.begin(), predictions.losses.end(), 0.0),
                        predictions);
}

double class_accuracy(const ClassPredictions& predictions) {
  return accuracy(predictions.labels, predictions.predictions);
}

double class_precision(const ClassPredictions& predictions) {
  return class_scores_of(predictions).precision;
}

double class_recall(const ClassPredictions& predictions) {
  return class_scores_of(predictions).recall;
}

double class_f1(const ClassPredictions& predictions) { return class_scores_of(predictions).f1; }

double class_f1_macro(const ClassPredictions& predictions) {
  return predictions.counts.macro_over_present().f1;
}

double class_f1_weighted(const ClassPredictions& predictions) {
  return predictions.counts.weighted().f1;
}

double class_matthews(const ClassPredictions& predictions) {
  return matthews_correlation(predictions.labels, predictions.predictions, predictions.classes);
}

std::optional<double> top5_accuracy(const ClassPredictions& predictions) {
  constexpr int64_t kMost = 5;
  if (predictions.classes <= kMost) {
    return std::nullopt;
  }
  double hits = 0;
  for (std::size_t row = 0; row < predictions.labels.size(); ++row) {
    const auto& logits = predictions.logits[row];
    const auto label = static_cast<std::size_t>(predictions.labels[row]);
    int64_t before = 0;
    for (std::size_t name = 0; name < logits.size(); ++name) {
      before += logits[name] > logits[label] || (logits[name] == logits[label] && name < label);
    }
    hits += before < kMost ? 1 : 0;
  }
  return mean_over_rows(hits, predictions);
}

std::optional<double> class_combined_score(const ClassPredictions& predictions) {
  if (predictions.classes != 2) {
    return std::nullopt;
  }
  return (class_accuracy(predictions) + class_f1(predictions)) / 2;
}

double class_roc_auc(const ClassPredictions& predictions) {
  return mean_over_classes(predictions, roc_auc);
}

double class_average_precision(const ClassPredictions& predictions) {
  return mean_over_classes(predictions, average_precision);
}

double class_ece(const ClassPredictions& predictions) {
  std::vector<bool> is_right;
  std::vector<double> confidence;
  for (std::size_t row = 0; row < predictions.labels.size(); ++row) {
    const auto predicted = predictions.predictions[row];
    is_right.push_back(predicted == predictions.labels[row]);
    confidence.push_back(predictions.probabilities[row][static_cast<std::size_t>(predicted)]);
  }
  return expected_calibration_error(is_right, confidence);
}

double class_brier_score(const ClassPredictions& predictions) {
  double squares = 0;
  const auto names = scored_classes(predictions);
  for (std::size_t row = 0; row < predictions.labels.size(); ++row) {
    for (const auto name : names) {
      const double gap = predictions.probabilities[row][static_cast<std::size_t>(name)] -
                         (predictions.labels[row] == name ? 1 : 0);
      squares += gap * gap;
    }
  }
  return mean_over_rows(squares, predictions);
}

double balanced_accuracy(const ClassPredictions& predictions) {
  double sum = 0;
  double classes = 0;
  for (int64_t name = 0; name < predictions.classes; ++name) {
    if (predictions.counts.support(name) > 0) {
      sum += predictions.counts.class_scores(name).recall;
      classes += 1;
    }
  }
  return safe_divide(sum, classes);
}

}  // namespace weft::metrics
