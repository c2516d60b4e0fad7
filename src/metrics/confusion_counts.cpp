#include "metrics/confusion_counts.h"

#include <cmath>
#include <numeric>

namespace weft::metrics {

namespace {

double tally_sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

ConfusionCounts::ConfusionCounts(int64_t classes)
    : true_positives_(static_cast<std::size_t>(classes)),
      predicted_(static_cast<std::size_t>(classes)),
      actual_(static_cast<std::size_t>(classes)) {}

void ConfusionCounts::add(int64_t actual, int64_t predicted) {
  true_positives_[static_cast<std::size_t>(actual)] += actual == predicted ? 1 : 0;
  actual_[static_cast<std::size_t>(actual)] += 1;
  predicted_[static_cast<std::size_t>(predicted)] += 1;
}

void ConfusionCounts::add_binary(int64_t name, bool is_actual, bool is_predicted) {
  const auto index = static_cast<std::size_t>(name);
  true_positives_[index] += is_actual && is_predicted ? 1 : 0;
  actual_[index] += is_actual ? 1 : 0;
  predicted_[index] += is_predicted ? 1 : 0;
}

ClassScores ConfusionCounts::class_scores(int64_t name) const {
  return precision_recall_f1(true_positives(name), predicted(name), support(name));
}

ClassScores ConfusionCounts::micro() const {
  return precision_recall_f1(tally_sum_of(true_positives_), tally_sum_of(predicted_),
                             tally_sum_of(actual_));
}

ClassScores ConfusionCounts::macro() const { return mean(std::vector<double>(actual_.size(), 1)); }

ClassScores ConfusionCounts::macro_over_present() const {
  std::vector<double> weights;
  for (int64_t name = 0; name < classes(); ++name) {
    weights.push_back(support(name) + predicted(name) > 0 ? 1 : 0);
  }
  return mean(weights);
}

ClassScores ConfusionCounts::weighted() const { return mean(actual_); }

ClassScores ConfusionCounts::mean(const std::vector<double>& weights) const {
  ClassScores sum;
  for (int64_t name = 0; name < classes(); ++name) {
    const auto scores = class_scores(name);
    const double weight = weights[static_cast<std::size_t>(name)];
    sum.precision += weight * scores.precision;
    sum.recall += weight * scores.recall;
    sum.f1 += weight * scores.f1;
  }
  const double total = tally_sum_of(weights);
  return {.precision = safe_divide(sum.precision, total),
          .recall = safe_divide(sum.recall, total),
          .f1 = safe_divide(sum.f1, total)};
}

formats::Json score_json(const ClassScores& scores, double support) {
  return {{"precision", scores.precision},
          {"recall", scores.recall},
          {"f1", scores.f1},
          {"support", std::llround(support)}};
}

}  // namespace weft::metrics
