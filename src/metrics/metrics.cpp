#include "metrics/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace weft::metrics {

namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Ranks from 1; ties get their mean rank.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    const double rank = (static_cast<double>(begin + end) + 1.0) / 2.0;
    for (; begin < end; ++begin) {
      result[order[begin]] = rank;
    }
  }
  return result;
}

}  // namespace

double accuracy(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions) {
  double right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    right += labels[i] == predictions[i] ? 1 : 0;
  }
  return safe_divide(right, static_cast<double>(labels.size()));
}

ClassScores precision_recall_f1(double true_positives, double predicted, double actual) {
  return {.precision = safe_divide(true_positives, predicted),
          .recall = safe_divide(true_positives, actual),
          .f1 = safe_divide(2 * true_positives, predicted + actual)};
}

double matthews_correlation(const std::vector<int64_t>& labels,
                            const std::vector<int64_t>& predictions,
                            int64_t classes) {
  std::vector<double> actual(static_cast<std::size_t>(classes));
  std::vector<double> predicted(static_cast<std::size_t>(classes));
  double right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    actual[static_cast<std::size_t>(labels[i])] += 1;
    predicted[static_cast<std::size_t>(predictions[i])] += 1;
    right += labels[i] == predictions[i] ? 1 : 0;
  }
  const auto total = static_cast<double>(labels.size());
  const auto product = [](const auto& a, const auto& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const double covariance = right * total - product(actual, predicted);
  const double spread =
      (total * total - product(predicted, predicted)) * (total * total - product(actual, actual));
  return spread <= 0 ? 0 : covariance / std::sqrt(spread);
}

double pearson(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() < 2) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double mean_x = mean_of(x);
  const double mean_y = mean_of(y);
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (xx == 0 || yy == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return xy / (std::sqrt(xx) * std::sqrt(yy));
}

double spearman(const std::vector<double>& x, const std::vector<double>& y) {
  return pearson(ranks(x), ranks(y));
}

}  // namespace weft::metrics
