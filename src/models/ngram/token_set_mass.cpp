#include "models/ngram/token_set_mass.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/threads.h"

namespace weft::models {

namespace {

constexpr int64_t kTokenGrain = 16;

std::size_t index_of(int64_t value) { return static_cast<std::size_t>(value); }

/// Calls `visit` with the index and the history of each n-gram of order k that continues this one,
/// which has the order `history_order`.
void visit_continuations(const NgramTables& tables,
                         std::size_t history_order,
                         NgramHistory history,
                         std::size_t k,
                         const std::function<void(int64_t, NgramHistory)>& visit) {
  const auto ngram = history[history_order - 1];
  if (history_order == k) {
    visit(ngram, history);
    return;
  }
  const auto* begins = tables.orders()[history_order - 1].first_child.const_data_ptr<int32_t>();
  const auto* tokens = tables.orders()[history_order].tokens.const_data_ptr<int32_t>();
  std::vector<int64_t> longer(history.size());
  for (auto i = begins[ngram]; i < begins[ngram + 1]; ++i) {
    tables.advance(history, tokens[i], longer);
    visit_continuations(tables, history_order + 1, longer, k, visit);
  }
}

}  // namespace

TokenSetMass::TokenSetMass(const NgramTables& tables, const std::vector<bool>& is_member) {
  for (int64_t token = 0; token < tables.vocabulary(); ++token) {
    if (is_member[index_of(token)] && !tables.is_never_predicted(token)) {
      const auto* unigrams = tables.orders()[0].log_probability.const_data_ptr<float>();
      empty_ += std::exp(static_cast<double>(unigrams[token]));
      predicted_ += 1;
    }
  }
  for (std::size_t k = 1; k < tables.orders().size(); ++k) {
    std::vector<float> masses(index_of(tables.orders()[k - 1].log_probability.numel()));
    const auto add = [&](int64_t ngram, NgramHistory history) {
      std::vector<int64_t> shorter(history.begin(), history.end());
      shorter[k - 1] = -1;
      masses[index_of(ngram)] =
          static_cast<float>(after_ngram(tables, is_member, k, ngram, shorter));
    };
    parallel_for(tables.vocabulary(), kTokenGrain, [&](int64_t begin, int64_t end) {
      std::vector<int64_t> history(tables.history_size());
      for (auto token = begin; token < end; ++token) {
        tables.advance({}, token, history);
        visit_continuations(tables, 1, history, k, add);
      }
    });
    masses_.push_back(std::move(masses));
  }
}

double TokenSetMass::after_ngram(const NgramTables& tables,
                                 const std::vector<bool>& is_member,
                                 std::size_t k,
                                 int64_t ngram,
                                 NgramHistory shorter) const {
  const auto& own = tables.orders()[k - 1];
  const auto& next = tables.orders()[k];
  const auto* begins = own.first_child.const_data_ptr<int32_t>() + ngram;
  const double scale = std::exp(static_cast<double>(own.backoff.const_data_ptr<float>()[ngram]));
  if (begins[0] == begins[1]) {
    return after(shorter) * (tables.is_floor() ? 1 : scale);
  }
  double seen = 0;
  double rest = tables.is_floor() ? predicted_ : after(shorter);  // of tokens that were not seen
  for (auto i = begins[0]; i < begins[1]; ++i) {
    const auto token = next.tokens.const_data_ptr<int32_t>()[i];
    if (is_member[index_of(token)]) {
      seen += std::exp(static_cast<double>(next.log_probability.const_data_ptr<float>()[i]));
      rest -= tables.is_floor() ? 1 : std::exp(tables.log_probability(shorter, token));
    }
  }
  return seen + scale * std::max(rest, 0.0);
}

double TokenSetMass::after(NgramHistory history) const {
  for (auto k = masses_.size(); k > 0; --k) {
    if (const auto ngram = history[k - 1]; ngram >= 0) {
      return masses_[k - 1][index_of(ngram)];
    }
  }
  return empty_;
}

}  // namespace weft::models
