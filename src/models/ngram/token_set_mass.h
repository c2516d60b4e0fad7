#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/ngram/tables.h"

namespace weft::models {

/// The sum of the probabilities of a set of tokens, after every history of an n-gram model.
class TokenSetMass {
 public:
  TokenSetMass() = default;
  /// Computes it for all histories that the tables have: a look-up for each of their n-grams.
  /// `is_member`: V.
  TokenSetMass(const NgramTables& tables, const std::vector<bool>& is_member);

  /// Sum of P(token | history) over the set.
  double after(NgramHistory history) const;

 private:
  /// The sum after an n-gram of order k, given the history of its last k - 1 tokens.
  double after_ngram(const NgramTables& tables,
                     const std::vector<bool>& is_member,
                     std::size_t k,
                     int64_t ngram,
                     NgramHistory shorter) const;

  double empty_ = 0;                        // after no history
  double predicted_ = 0;                    // members that are ever predicted
  std::vector<std::vector<float>> masses_;  // by order, after each n-gram
};

}  // namespace weft::models
