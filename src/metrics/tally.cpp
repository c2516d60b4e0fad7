#include "metrics/tally.h"

#include <cmath>
#include <numeric>

namespace weft::metrics {

namespace {

double tally_sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

Tally::Tally(int64_t classes)
    : hits_(static_cast<std::size_t>(classes)),
      found_(static_cast<std::size_t>(classes)),
      wanted_(static_cast<std::size_t>(classes)) {}

void Tally::add(int64_t wanted, int64_t found) {
  hits_[static_cast<std::size_t>(wanted)] += wanted == found ? 1 : 0;
  wanted_[static_cast<std::size_t>(wanted)] += 1;
  found_[static_cast<std::size_t>(found)] += 1;
}

void Tally::decide(int64_t name, bool is_wanted, bool is_found) {
  const auto place = static_cast<std::size_t>(name);
  hits_[place] += is_wanted && is_found ? 1 : 0;
  wanted_[place] += is_wanted ? 1 : 0;
  found_[place] += is_found ? 1 : 0;
}

ClassScores Tally::of(int64_t name) const {
  return scores_of(hits(name), found(name), support(name));
}

ClassScores Tally::micro() const {
  return scores_of(tally_sum_of(hits_), tally_sum_of(found_), tally_sum_of(wanted_));
}

ClassScores Tally::macro() const { return mean(std::vector<double>(wanted_.size(), 1)); }

ClassScores Tally::macro_of_present() const {
  std::vector<double> weights;
  for (int64_t name = 0; name < classes(); ++name) {
    weights.push_back(support(name) + found(name) > 0 ? 1 : 0);
  }
  return mean(weights);
}

ClassScores Tally::weighted() const { return mean(wanted_); }

ClassScores Tally::mean(const std::vector<double>& weights) const {
  ClassScores sum;
  for (int64_t name = 0; name < classes(); ++name) {
    const auto scores = of(name);
    const double weight = weights[static_cast<std::size_t>(name)];
    sum.precision += weight * scores.precision;
    sum.recall += weight * scores.recall;
    sum.f1 += weight * scores.f1;
  }
  const double total = tally_sum_of(weights);
  return {.precision = quotient(sum.precision, total),
          .recall = quotient(sum.recall, total),
          .f1 = quotient(sum.f1, total)};
}

formats::Json score_json(const ClassScores& scores, double support) {
  return {{"precision", scores.precision},
          {"recall", scores.recall},
          {"f1", scores.f1},
          {"support", std::llround(support)}};
}

}  // namespace weft::metrics
