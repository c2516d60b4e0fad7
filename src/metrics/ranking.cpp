#include "metrics/ranking.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "metrics/metrics.h"

namespace weft::metrics {

namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

/// All pairs of equal score.
struct Group {
  double score = 0;
  double positives = 0;
  double negatives = 0;
};

/// Highest score first.
std::vector<Group> groups_of(const std::vector<bool>& is_positive,
                             const std::vector<double>& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return scores[a] > scores[b]; });
  std::vector<Group> groups;
  for (const auto place : order) {
    if (groups.empty() || groups.back().score != scores[place]) {
      groups.push_back({.score = scores[place]});
    }
    (is_positive[place] ? groups.back().positives : groups.back().negatives) += 1;
  }
  return groups;
}

/// Decisions by a threshold against the truth.
struct Decisions {
  double hits = 0;
  double false_alarms = 0;
  double misses = 0;
  double rejections = 0;
};

double figure_of(const Decisions& made, ThresholdGoal goal) {
  const double total = made.hits + made.false_alarms + made.misses + made.rejections;
  switch (goal) {
    case ThresholdGoal::kF1:
      return quotient(2 * made.hits, 2 * made.hits + made.false_alarms + made.misses);
    case ThresholdGoal::kAccuracy:
      return quotient(made.hits + made.rejections, total);
    case ThresholdGoal::kMatthews:
      return quotient(
          made.hits * made.rejections - made.false_alarms * made.misses,
          std::sqrt((made.hits + made.false_alarms) * (made.hits + made.misses) *
                    (made.rejections + made.false_alarms) * (made.rejections + made.misses)));
  }
  return 0;
}

}  // namespace

double roc_auc(const std::vector<bool>& is_positive, const std::vector<double>& scores) {
  double positives = 0;
  double negatives = 0;
  double area = 0;
  for (const auto& group : groups_of(is_positive, scores)) {
    area += group.negatives * (positives + group.positives / 2);
    positives += group.positives;
    negatives += group.negatives;
  }
  return positives == 0 || negatives == 0 ? kUndefined : area / (positives * negatives);
}

double average_precision(const std::vector<bool>& is_positive, const std::vector<double>& scores) {
  double found = 0;
  double hits = 0;
  double sum = 0;
  for (const auto& group : groups_of(is_positive, scores)) {
    hits += group.positives;
    found += group.positives + group.negatives;
    sum += group.positives * hits / found;
  }
  return hits == 0 ? kUndefined : sum / hits;
}

double mean_of_defined(const std::vector<double>& figures) {
  double sum = 0;
  double count = 0;
  for (const double figure : figures) {
    if (!std::isnan(figure)) {
      sum += figure;
      count += 1;
    }
  }
  return count == 0 ? kUndefined : sum / count;
}

double best_threshold(const std::vector<bool>& is_positive,
                      const std::vector<double>& scores,
                      ThresholdGoal goal) {
  const auto groups = groups_of(is_positive, scores);
  Decisions made;
  for (const auto& group : groups) {
    made.misses += group.positives;
    made.rejections += group.negatives;
  }
  double best = 0.5;
  double figure = -std::numeric_limits<double>::infinity();
  for (std::size_t cut = 0; cut <= groups.size() && !groups.empty(); ++cut) {
    if (cut > 0) {
      made.hits += groups[cut - 1].positives;
      made.misses -= groups[cut - 1].positives;
      made.false_alarms += groups[cut - 1].negatives;
      made.rejections -= groups[cut - 1].negatives;
    }
    const double above = cut > 0 ? groups[cut - 1].score : 1;
    const double below = cut < groups.size() ? groups[cut].score : 0;
    const double threshold = (above + below) / 2;
    const double reached = figure_of(made, goal);
    const bool is_nearer = std::abs(threshold - 0.5) < std::abs(best - 0.5);
    if (threshold > below && (reached > figure || (reached == figure && is_nearer))) {
      figure = reached;
      best = threshold;
    }
  }
  return best;
}

}  // namespace weft::metrics
