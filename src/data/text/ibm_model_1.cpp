#include "data/text/ibm_model_1.h"

#include <algorithm>
#include <tuple>

namespace weft::data {

IbmModel1::IbmModel1(const VisitTokenPairs& visit_pairs, const IbmModel1Options& options)
    : rows_(static_cast<std::size_t>(options.source_vocabulary) + 1) {
  visit_pairs([&](auto source, auto target) { collect(source, target); });
  for (auto& row : rows_) {
    row.remove_duplicates();
    row.targets.shrink_to_fit();
    row.probabilities.assign(row.targets.size(), 1.0);  // equal ones, of any size
    row.counts.assign(row.targets.size(), 0.0);
  }
  for (int64_t iteration = 0; iteration < options.iterations; ++iteration) {
    visit_pairs([&](auto source, auto target) { count(source, target); });
    normalize();
  }
}

void IbmModel1::Row::add(std::span<const int64_t> tokens) {
  constexpr std::size_t kLeast = 1024;
  targets.insert(targets.end(), tokens.begin(), tokens.end());
  if (targets.size() > 2 * std::max(distinct, kLeast)) {
    remove_duplicates();
  }
}

void IbmModel1::Row::remove_duplicates() {
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  distinct = targets.size();
}

std::size_t IbmModel1::Row::position(int64_t target) const {
  const auto place = std::lower_bound(targets.begin(), targets.end(), target);
  return static_cast<std::size_t>(place - targets.begin());
}

void IbmModel1::collect(std::span<const int64_t> source, std::span<const int64_t> target) {
  for (const auto token : source) {
    rows_.at(static_cast<std::size_t>(token)).add(target);
  }
  rows_.back().add(target);
}

void IbmModel1::count(std::span<const int64_t> source, std::span<const int64_t> target) {
  pair_rows_.assign({&rows_.back()});
  for (const auto token : source) {
    pair_rows_.push_back(&rows_[static_cast<std::size_t>(token)]);
  }
  positions_.resize(pair_rows_.size());
  for (const auto token : target) {
    double sum = 0;
    for (std::size_t i = 0; i < pair_rows_.size(); ++i) {
      positions_[i] = pair_rows_[i]->position(token);
      sum += pair_rows_[i]->probabilities[positions_[i]];
    }
    for (std::size_t i = 0; i < pair_rows_.size() && sum > 0; ++i) {
      auto& row = *pair_rows_[i];
      row.counts[positions_[i]] += row.probabilities[positions_[i]] / sum;
    }
  }
}

void IbmModel1::normalize() {
  for (auto& row : rows_) {
    double sum = 0;
    for (const auto value : row.counts) {
      sum += value;
    }
    for (std::size_t i = 0; i < row.counts.size(); ++i) {
      row.probabilities[i] = sum > 0 ? row.counts[i] / sum : 0;
      row.counts[i] = 0;
    }
  }
}

std::vector<TokenTranslation> IbmModel1::best(int64_t source, int64_t count) const {
  const auto& row = rows_.at(static_cast<std::size_t>(source));
  std::vector<TokenTranslation> result;
  for (std::size_t i = 0; i < row.targets.size(); ++i) {
    result.push_back({.target = row.targets[i], .probability = row.probabilities[i]});
  }
  const auto kept = std::min(result.size(), static_cast<std::size_t>(count));
  std::partial_sort(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(kept),
                    result.end(), [](const auto& a, const auto& b) {
                      return std::tie(b.probability, a.target) < std::tie(a.probability, b.target);
                    });
  result.resize(kept);
  return result;
}

}  // namespace weft::data
