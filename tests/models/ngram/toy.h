#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/ngram/counts.h"
#include "models/ngram/estimate.h"
#include "models/ngram/tables.h"

namespace weft::test {

/// Tokens of the toy corpus `a b a c / a b b / b a c`.
inline constexpr int64_t kBegin = 0;
inline constexpr int64_t kEnd = 1;
inline constexpr int64_t kA = 2;
inline constexpr int64_t kB = 3;
inline constexpr int64_t kC = 4;
inline constexpr int64_t kToyVocabulary = 5;

inline std::vector<std::vector<int64_t>> toy_corpus() {
  return {{kBegin, kA, kB, kA, kC, kEnd}, {kBegin, kA, kB, kB, kEnd}, {kBegin, kB, kA, kC, kEnd}};
}

/// Counts of sequences; small blocks, so that there are several runs.
inline models::NgramCounts count_ngrams(const std::vector<std::vector<int64_t>>& sequences,
                                        models::NgramCounterOptions options) {
  models::NgramCounter counter(std::move(options));
  for (const auto& sequence : sequences) {
    counter.add(sequence);
  }
  return counter.finish();
}

inline models::NgramTables toy_tables(const models::NgramOptions& options,
                                      const std::string& directory) {
  std::vector<bool> is_predicted(kToyVocabulary, true);
  is_predicted[kBegin] = false;
  auto estimate = models::estimate_ngrams(
      count_ngrams(toy_corpus(),
                   {.order = options.order, .vocabulary = kToyVocabulary, .directory = directory}),
      {.options = options, .is_predicted = std::move(is_predicted), .directory = directory});
  return models::NgramTables(std::move(estimate.orders),
                             models::smoothing_method(options.smoothing).adds_k);
}

/// The history after these tokens.
inline std::vector<int64_t> history_of(const models::NgramTables& tables,
                                       const std::vector<int64_t>& tokens) {
  std::vector<int64_t> history;
  for (const auto token : tokens) {
    std::vector<int64_t> next(tables.history_size());
    tables.advance(history, token, next);
    history = next;
  }
  return history;
}

}  // namespace weft::test
