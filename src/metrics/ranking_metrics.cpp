#include "metrics/ranking_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

#include "metrics/metrics.h"

namespace weft::metrics {

namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

/// All examples with equal scores.
struct ScoreGroup {
  double score = 0;
  double positives = 0;
  double negatives = 0;
};

/// Groups the examples by score, highest first.
std::vector<ScoreGroup> group_by_score(const std::vector<bool>& is_positive,
                                       const std::vector<double>& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return scores[a] > scores[b]; });
  std::vector<ScoreGroup> groups;
  for (const auto index : order) {
    if (groups.empty() || groups.back().score != scores[index]) {
      groups.push_back({.score = scores[index]});
    }
    (is_positive[index] ? groups.back().positives : groups.back().negatives) += 1;
  }
  return groups;
}

/// Confusion counts of a threshold.
struct ConfusionMatrix {
  double true_positives = 0;
  double false_positives = 0;
  double false_negatives = 0;
  double true_negatives = 0;
};

double metric_value(const ConfusionMatrix& confusion, ThresholdMetric metric) {
  const double total = confusion.true_positives + confusion.false_positives +
                       confusion.false_negatives + confusion.true_negatives;
  switch (metric) {
    case ThresholdMetric::kF1:
      return safe_divide(
          2 * confusion.true_positives,
          2 * confusion.true_positives + confusion.false_positives + confusion.false_negatives);
    case ThresholdMetric::kAccuracy:
      return safe_divide(confusion.true_positives + confusion.true_negatives, total);
    case ThresholdMetric::kMatthews:
      return safe_divide(confusion.true_positives * confusion.true_negatives -
                             confusion.false_positives * confusion.false_negatives,
                         std::sqrt((confusion.true_positives + confusion.false_positives) *
                                   (confusion.true_positives + confusion.false_negatives) *
                                   (confusion.true_negatives + confusion.false_positives) *
                                   (confusion.true_negatives + confusion.false_negatives)));
  }
  return 0;
}

}  // namespace

double roc_auc(const std::vector<bool>& is_positive, const std::vector<double>& scores) {
  double positives = 0;
  double negatives = 0;
  double area = 0;
  for (const auto& group : group_by_score(is_positive, scores)) {
    area += group.negatives * (positives + group.positives / 2);
    positives += group.positives;
    negatives += group.negatives;
  }
  return positives == 0 || negatives == 0 ? kUndefined : area / (positives * negatives);
}

double average_precision(const std::vector<bool>& is_positive, const std::vector<double>& scores) {
  double found = 0;
  double true_positives = 0;
  double sum = 0;
  for (const auto& group : group_by_score(is_positive, scores)) {
    true_positives += group.positives;
    found += group.positives + group.negatives;
    sum += group.positives * true_positives / found;
  }
  return true_positives == 0 ? kUndefined : sum / true_positives;
}

ThresholdCurve roc_curve(const std::vector<bool>& is_positive, const std::vector<double>& scores) {
  double positives = 0;
  double negatives = 0;
  ThresholdCurve curve{.x = {0}, .y = {0}, .thresholds = {std::numeric_limits<double>::infinity()}};
  for (const auto& group : group_by_score(is_positive, scores)) {
    curve.x.push_back(negatives += group.negatives);
    curve.y.push_back(positives += group.positives);
    curve.thresholds.push_back(group.score);
  }
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    curve.x[i] = negatives == 0 ? kUndefined : curve.x[i] / negatives;
    curve.y[i] = positives == 0 ? kUndefined : curve.y[i] / positives;
  }
  return curve;
}

ThresholdCurve precision_recall_curve(const std::vector<bool>& is_positive,
                                      const std::vector<double>& scores) {
  double positives = 0;
  double found = 0;
  ThresholdCurve curve;
  for (const auto& group : group_by_score(is_positive, scores)) {
    positives += group.positives;
    found += group.positives + group.negatives;
    curve.x.push_back(positives);
    curve.y.push_back(positives / found);
    curve.thresholds.push_back(group.score);
  }
  for (auto& recall : curve.x) {
    recall = positives == 0 ? 1 : recall / positives;
  }
  return curve;
}

std::vector<CalibrationBin> calibration_bins(const std::vector<bool>& is_positive,
                                             const std::vector<double>& probabilities,
                                             int bins) {
  // A probability at the edge of two bins belongs to the lower one.
  std::vector<double> edges;
  for (int i = 1; i < bins; ++i) {
    edges.push_back(i * (1.0 / bins));
  }
  std::vector<CalibrationBin> all(static_cast<std::size_t>(bins));
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const auto edge = std::lower_bound(edges.begin(), edges.end(), probabilities[i]);
    auto& bin = all[static_cast<std::size_t>(edge - edges.begin())];
    bin.mean_probability += probabilities[i];
    bin.positive_fraction += is_positive[i] ? 1 : 0;
    bin.count += 1;
  }
  std::erase_if(all, [](const CalibrationBin& bin) { return bin.count == 0; });
  for (auto& bin : all) {
    bin.mean_probability /= bin.count;
    bin.positive_fraction /= bin.count;
  }
  return all;
}

double nan_mean(const std::vector<double>& metrics) {
  double sum = 0;
  double count = 0;
  for (const double metric : metrics) {
    if (!std::isnan(metric)) {
      sum += metric;
      count += 1;
    }
  }
  return count == 0 ? kUndefined : sum / count;
}

double best_threshold(const std::vector<bool>& is_positive,
                      const std::vector<double>& scores,
                      ThresholdMetric metric) {
  const auto groups = group_by_score(is_positive, scores);
  ConfusionMatrix confusion;
  for (const auto& group : groups) {
    confusion.false_negatives += group.positives;
    confusion.true_negatives += group.negatives;
  }
  double best = 0.5;
  double best_value = -std::numeric_limits<double>::infinity();
  for (std::size_t cut = 0; cut <= groups.size() && !groups.empty(); ++cut) {
    if (cut > 0) {
      confusion.true_positives += groups[cut - 1].positives;
      confusion.false_negatives -= groups[cut - 1].positives;
      confusion.false_positives += groups[cut - 1].negatives;
      confusion.true_negatives -= groups[cut - 1].negatives;
    }
    const double above = cut > 0 ? groups[cut - 1].score : 1;
    const double below = cut < groups.size() ? groups[cut].score : 0;
    const double threshold = (above + below) / 2;
    const double reached = metric_value(confusion, metric);
    const bool is_nearer = std::abs(threshold - 0.5) < std::abs(best - 0.5);
    if (threshold > below && (reached > best_value || (reached == best_value && is_nearer))) {
      best_value = reached;
      best = threshold;
    }
  }
  return best;
}

namespace {

constexpr std::size_t kBins = 15;

/// Bins include their upper bound, not the lower one.
std::size_t bin_of(double probability) {
  const auto above = std::ceil(probability * static_cast<double>(kBins));
  return static_cast<std::size_t>(std::clamp(above, 1.0, static_cast<double>(kBins))) - 1;
}

}  // namespace

double expected_calibration_error(const std::vector<bool>& is_correct,
                                  const std::vector<double>& probabilities) {
  std::array<double, kBins> gaps = {};  // sum of probability minus correctness
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    gaps[bin_of(probabilities[i])] += probabilities[i] - (is_correct[i] ? 1 : 0);
  }
  double sum = 0;
  for (const double gap : gaps) {
    sum += std::abs(gap);
  }
  return probabilities.empty() ? 0 : sum / static_cast<double>(probabilities.size());
}

}  // namespace weft::metrics
