#include "models/ngram/estimate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/ops/from_blob.h>

#include "base/threads.h"

namespace weft::models {

namespace {

constexpr int64_t kGrain = 4096;  // n-grams
constexpr auto kZero = -std::numeric_limits<float>::infinity();

float log_of(double probability) {
  return probability > 0 ? static_cast<float>(std::log(probability)) : kZero;
}

/// A tensor of the array. A small one is copied to memory, a large one keeps its file.
template <class Value>
at::Tensor tensor_of_array(MappedArray<Value> array, at::ScalarType type) {
  constexpr int64_t kMostCopied = int64_t{1} << 24;  // values
  const auto size = static_cast<int64_t>(array.size());
  if (size <= kMostCopied) {
    auto copy = at::empty({size}, type);
    std::copy_n(array.data(), array.size(), static_cast<Value*>(copy.data_ptr()));
    return copy;
  }
  auto kept = std::make_shared<MappedArray<Value>>(std::move(array));
  return at::from_blob(
      kept->data(), {size}, [kept](void*) {}, type);
}

class Estimator {
 public:
  Estimator(NgramCounts counts, const NgramEstimateInputs& inputs)
      : counts_(std::move(counts)),
        inputs_(inputs),
        method_(smoothing_method(inputs.options.smoothing)),
        predicted_(static_cast<double>(std::ranges::count(inputs.is_predicted, true))) {}

  NgramEstimate run() {
    link_suffixes();
    adjust_counts();
    NgramEstimate result;
    for (std::size_t i = 0; i < size(); ++i) {
      const bool has_lower = i > 0 || interpolates_first_order();
      result.discounts.push_back(
          has_lower ? method_.discounts(counts_of_counts(i), i + 1, inputs_.options) : Discounts{});
    }
    std::vector<MappedArray<float>> log_probabilities;
    std::vector<MappedArray<float>> backoffs;
    for (std::size_t i = 0; i < size(); ++i) {
      log_probabilities.emplace_back(inputs_.directory);
      backoffs.emplace_back(inputs_.directory);
    }
    auto lower = first_order(result.discounts[0]);
    for (std::size_t i = 1; i < size(); ++i) {
      log_probabilities[i - 1] = logs_of(lower);
      lower = next_order(i, result.discounts[i], lower, backoffs[i - 1]);
    }
    log_probabilities.back() = logs_of(lower);
    for (std::size_t i = size(); i-- > 0;) {
      remove_pruned(i, log_probabilities[i], backoffs[i]);
    }
    for (std::size_t i = 0; i < size(); ++i) {
      result.orders.push_back(
          tensors_of(i, std::move(log_probabilities[i]), std::move(backoffs[i])));
    }
    return result;
  }

 private:
  template <class Value>
  using Array = MappedArray<Value>;

  std::size_t size() const { return counts_.orders.size(); }

  template <class Value>
  Array<Value> zeros(std::size_t count) const {
    Array<Value> result(inputs_.directory);
    result.resize(count);
    return result;
  }

  static void for_each(std::size_t count, const std::function<void(std::size_t)>& visit) {
    parallel_for(static_cast<int64_t>(count), kGrain, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        visit(i);
      }
    });
  }

  /// For each n-gram of order 2 and above, the n-gram without its first token.
  void link_suffixes() {
    suffixes_.emplace_back(inputs_.directory);
    for (std::size_t i = 1; i < size(); ++i) {
      const auto& own = counts_.orders[i];
      auto suffix = zeros<uint32_t>(own.tokens.size());
      if (i == 1) {
        std::copy_n(own.tokens.data(), own.tokens.size(), suffix.data());
      } else {
        const auto& shorter = counts_.orders[i - 1];
        const auto* begins = counts_.orders[i - 1].first_child.data();
        const auto* shorter_begins = counts_.orders[i - 2].first_child.data();
        for_each(shorter.tokens.size(), [&](std::size_t parent) {
          const auto without_first = suffixes_[i - 1][parent];
          // Both lists are sorted, and the second contains the first.
          const auto* at = shorter.tokens.data() + shorter_begins[without_first];
          const auto* const end = shorter.tokens.data() + shorter_begins[without_first + 1];
          for (auto child = begins[parent]; child < begins[parent + 1]; ++child) {
            at = std::lower_bound(at, end, own.tokens[child]);
            suffix[child] = static_cast<uint32_t>(at - shorter.tokens.data());
          }
        });
      }
      suffixes_.push_back(std::move(suffix));
    }
  }

  /// Continuation counts, where the method uses them; the counts themselves still tell what is
  /// pruned.
  void adjust_counts() {
    for (std::size_t i = 0; method_.uses_continuation_counts && i + 1 < size(); ++i) {
      const auto& raw = counts_.orders[i].counts;
      auto adjusted = zeros<uint32_t>(raw.size());
      const auto& suffix = suffixes_[i + 1];
      for (std::size_t longer = 0; longer < suffix.size(); ++longer) {
        ++adjusted[suffix[longer]];
      }
      for (std::size_t ngram = 0; ngram < raw.size(); ++ngram) {
        adjusted[ngram] = adjusted[ngram] > 0 ? adjusted[ngram] : raw[ngram];
      }
      adjusted_.push_back(std::move(adjusted));
    }
  }

  const Array<uint32_t>& adjusted(std::size_t order) const {
    return order < adjusted_.size() ? adjusted_[order] : counts_.orders[order].counts;
  }

  CountsOfCounts counts_of_counts(std::size_t order) const {
    CountsOfCounts result{};
    const auto& counts = adjusted(order);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] < result.size() && (order > 0 || inputs_.is_predicted[i])) {
        ++result[counts[i]];
      }
    }
    return result;
  }

  bool is_kept(std::size_t order, std::size_t ngram) const {
    const auto& prune = inputs_.options.prune;
    const auto most = order < prune.size() ? prune[order] : prune.empty() ? 0 : prune.back();
    return order == 0 || counts_.orders[order].counts[ngram] > most;
  }

  /// Sums over the continuations of a history.
  struct Mass {
    double total = 0;  // S(h)
    double left = 0;   // gamma(h) S(h)

    double gamma() const { return total > 0 ? left / total : 1; }
  };

  void add(Mass& mass, uint32_t count, bool is_kept, const Discounts& discounts) const {
    mass.total += count;
    mass.left += is_kept ? discounts[std::min<uint32_t>(count, 3)] : count;
    if (method_.adds_types && count > 0) {
      mass.total += 1;
      mass.left += 1;
    }
  }

  /// c - D(c), over S(h).
  static double own_part(uint32_t count, const Discounts& discounts, const Mass& mass) {
    return mass.total > 0 ? (count - discounts[std::min<uint32_t>(count, 3)]) / mass.total : 0;
  }

  double k() const { return inputs_.options.k; }

  /// Otherwise order 1 is not smoothed.
  bool interpolates_first_order() const {
    bool has_unseen = false;
    for (std::size_t token = 0; token < inputs_.is_predicted.size(); ++token) {
      has_unseen = has_unseen || (inputs_.is_predicted[token] && adjusted(0)[token] == 0);
    }
    return method_.interpolates_order_1 || has_unseen;
  }

  Array<double> first_order(const Discounts& discounts) const {
    const auto& counts = adjusted(0);
    const auto& is_predicted = inputs_.is_predicted;
    Mass mass;
    for (std::size_t token = 0; token < counts.size(); ++token) {
      if (is_predicted[token]) {
        add(mass, counts[token], true, discounts);
      }
    }
    if (!interpolates_first_order()) {
      mass = {.total = mass.total - mass.left, .left = 0};
    }
    auto result = zeros<double>(counts.size());
    for (std::size_t token = 0; token < counts.size(); ++token) {
      if (is_predicted[token]) {
        result[token] = method_.adds_k
                            ? (counts[token] + k()) / (mass.total + k() * predicted_)
                            : own_part(counts[token], discounts, mass) + mass.gamma() / predicted_;
      }
    }
    return result;
  }

  /// Probabilities of an order (counted from 0) and the back-offs of the one below.
  Array<double> next_order(std::size_t order,
                           const Discounts& discounts,
                           const Array<double>& lower,
                           Array<float>& backoffs) const {
    const auto& counts = adjusted(order);
    const auto* begins = counts_.orders[order - 1].first_child.data();
    auto result = zeros<double>(counts.size());
    backoffs.resize(lower.size());
    for_each(lower.size(), [&](std::size_t history) {
      Mass mass;
      for (auto i = begins[history]; i < begins[history + 1]; ++i) {
        add(mass, counts[i], is_kept(order, i), discounts);
      }
      const double gamma = mass.gamma();
      const double added = mass.total + k() * predicted_;
      for (auto i = begins[history]; i < begins[history + 1]; ++i) {
        result[i] = method_.adds_k
                        ? (counts[i] + k()) / added
                        : own_part(counts[i], discounts, mass) + gamma * lower[suffixes_[order][i]];
      }
      const bool was_seen = begins[history] < begins[history + 1];
      backoffs[history] = method_.adds_k ? (was_seen ? log_of(k() / added) : 0) : log_of(gamma);
    });
    return result;
  }

  Array<float> logs_of(const Array<double>& probabilities) const {
    auto result = zeros<float>(probabilities.size());
    for_each(result.size(), [&](std::size_t i) { result[i] = log_of(probabilities[i]); });
    return result;
  }

  /// Removes the pruned n-grams of an order whose next order has none left.
  void remove_pruned(std::size_t order, Array<float>& log_probability, Array<float>& backoff) {
    if (order == 0 || inputs_.options.prune.empty()) {
      return;
    }
    auto& own = counts_.orders[order];
    auto& parents = counts_.orders[order - 1].first_child;
    std::size_t kept = 0;
    for (std::size_t parent = 0; parent + 1 < parents.size(); ++parent) {
      const auto begin = parents[parent];
      parents[parent] = static_cast<uint32_t>(kept);
      for (auto i = begin; i < parents[parent + 1]; ++i) {
        if (!is_kept(order, i)) {
          continue;
        }
        own.tokens[kept] = own.tokens[i];
        own.counts[kept] = own.counts[i];
        log_probability[kept] = log_probability[i];
        if (order + 1 < size()) {
          backoff[kept] = backoff[i];
          own.first_child[kept] = own.first_child[i];
        }
        ++kept;
      }
    }
    parents[parents.size() - 1] = static_cast<uint32_t>(kept);
    if (order + 1 < size()) {
      own.first_child[kept] = own.first_child[own.tokens.size()];
      own.first_child.resize(kept + 1);
      backoff.resize(kept);
    }
    own.tokens.resize(kept);
    own.counts.resize(kept);
    log_probability.resize(kept);
  }

  NgramOrder tensors_of(std::size_t order, Array<float> log_probability, Array<float> backoff) {
    auto& own = counts_.orders[order];
    NgramOrder result{.tokens = {},
                      .log_probability = tensor_of_array(std::move(log_probability), at::kFloat),
                      .backoff = {},
                      .first_child = {}};
    if (order > 0) {
      result.tokens = tensor_of_array(std::move(own.tokens), at::kInt);
    }
    if (order + 1 < size()) {
      result.backoff = tensor_of_array(std::move(backoff), at::kFloat);
      result.first_child = tensor_of_array(std::move(own.first_child), at::kInt);
    }
    return result;
  }

  NgramCounts counts_;
  const NgramEstimateInputs& inputs_;
  const SmoothingMethod& method_;
  double predicted_;                       // number of tokens that can follow
  std::vector<Array<uint32_t>> suffixes_;  // by order, from 0; that of order 0 is empty
  std::vector<Array<uint32_t>> adjusted_;  // of the orders below the highest; or none
};

}  // namespace

NgramEstimate estimate_ngrams(NgramCounts counts, const NgramEstimateInputs& inputs) {
  return Estimator(std::move(counts), inputs).run();
}

}  // namespace weft::models
