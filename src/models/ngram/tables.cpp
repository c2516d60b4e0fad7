#include "models/ngram/tables.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace weft::models {

namespace {

constexpr auto kNever = -std::numeric_limits<float>::infinity();

template <class Value>
const Value* data_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<Value>() : nullptr;
}

}  // namespace

NgramTables::NgramTables(std::vector<NgramOrder> orders, bool is_floor)
    : orders_(std::move(orders)), is_floor_(is_floor) {
  for (const auto& order : orders_) {
    views_.push_back({.size = order.log_probability.numel(),
                      .tokens = data_of<int32_t>(order.tokens),
                      .log_probability = data_of<float>(order.log_probability),
                      .backoff = data_of<float>(order.backoff),
                      .first_child = data_of<int32_t>(order.first_child)});
  }
  by_probability_.resize(static_cast<std::size_t>(vocabulary()));
  std::iota(by_probability_.begin(), by_probability_.end(), 0);
  std::ranges::stable_sort(by_probability_, [&](int32_t a, int32_t b) {
    return views_[0].log_probability[a] > views_[0].log_probability[b];
  });
}

int64_t NgramTables::child(int64_t order, int64_t ngram, int64_t token) const {
  const auto& own = views_[static_cast<std::size_t>(order) - 1];
  const auto& next = views_[static_cast<std::size_t>(order)];
  const auto* const end = next.tokens + own.first_child[ngram + 1];
  const auto* const found = std::lower_bound(next.tokens + own.first_child[ngram], end, token);
  return found != end && *found == token ? found - next.tokens : -1;
}

bool NgramTables::has_children(std::size_t order, int64_t ngram) const {
  const auto* begins = views_[order - 1].first_child + ngram;
  return begins[0] < begins[1];
}

void NgramTables::advance(NgramHistory before, int64_t token, std::span<int64_t> after) const {
  for (auto i = after.size(); i-- > 1;) {
    const auto shorter = before.empty() ? -1 : before[i - 1];
    after[i] = shorter < 0 ? -1 : child(static_cast<int64_t>(i), shorter, token);
  }
  after[0] = token;
}

double NgramTables::log_probability(NgramHistory history, int64_t token) const {
  double backoff = 0;
  for (auto k = orders_.size() - 1; k > 0; --k) {
    const auto ngram = history[k - 1];
    if (ngram < 0) {
      continue;
    }
    if (const auto found = child(static_cast<int64_t>(k), ngram, token); found >= 0) {
      return backoff + views_[k].log_probability[found];
    }
    if (is_floor_ && has_children(k, ngram)) {
      return is_never_predicted(token) ? kNever : views_[k - 1].backoff[ngram];
    }
    backoff += is_floor_ ? 0 : views_[k - 1].backoff[ngram];
  }
  return backoff + views_[0].log_probability[token];
}

bool NgramTables::is_never_predicted(int64_t token) const {
  return views_[0].log_probability[token] == kNever;
}

std::vector<double> NgramTables::backoff_sums(NgramHistory history) const {
  std::vector<double> sums(orders_.size(), 0.0);
  for (auto k = orders_.size() - 1; k > 0; --k) {
    const auto ngram = history[k - 1];
    sums[k - 1] = sums[k] + (ngram < 0 || is_floor_ ? 0 : views_[k - 1].backoff[ngram]);
  }
  return sums;
}

void NgramTables::log_probabilities(NgramHistory history, std::span<float> result) const {
  const auto sums = backoff_sums(history);
  for (std::size_t token = 0; token < result.size(); ++token) {
    result[token] = static_cast<float>(views_[0].log_probability[token] + sums[0]);
  }
  for (std::size_t k = 1; k < orders_.size(); ++k) {
    const auto ngram = history[k - 1];
    if (ngram < 0 || !has_children(k, ngram)) {
      continue;
    }
    for (std::size_t token = 0; is_floor_ && token < result.size(); ++token) {
      result[token] =
          is_never_predicted(static_cast<int64_t>(token)) ? kNever : views_[k - 1].backoff[ngram];
    }
    const auto* begins = views_[k - 1].first_child + ngram;
    for (auto i = begins[0]; i < begins[1]; ++i) {
      result[static_cast<std::size_t>(views_[k].tokens[i])] =
          static_cast<float>(views_[k].log_probability[i] + sums[k]);
    }
  }
}

int64_t NgramTables::most_likely(NgramHistory history) const {
  double best = -std::numeric_limits<double>::infinity();
  int64_t result = -1;
  // Scores a token that was found in some order, by the highest order in which it is found.
  const auto offer = [&](int64_t token, double bound) {
    if (bound < best || (bound == best && token > result)) {
      return;
    }
    const double exact = log_probability(history, token);
    if (result < 0 || exact > best || (exact == best && token < result)) {
      best = exact;
      result = token;
    }
  };
  const auto sums = backoff_sums(history);
  for (auto k = orders_.size() - 1; k > 0; --k) {
    if (const auto ngram = history[k - 1]; ngram >= 0) {
      const auto* begins = views_[k - 1].first_child + ngram;
      for (auto i = begins[0]; i < begins[1]; ++i) {
        offer(views_[k].tokens[i], views_[k].log_probability[i] + sums[k]);
      }
    }
  }
  // A token that is found in a higher order, too, was offered already; the first other one is the
  // best of them.
  for (const auto token : by_probability_) {
    const double here = views_[0].log_probability[token] + sums[0];
    if (result >= 0 && here < best) {
      break;
    }
    offer(token, std::numeric_limits<double>::infinity());
  }
  return result;
}

}  // namespace weft::models
