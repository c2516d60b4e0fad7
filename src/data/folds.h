#pragma once

#include <cstdint>
#include <vector>

namespace weft::data {

/// Returns the fold of each row, counted from 0. Stratified: rows of each class are dealt out in an
/// order keyed by the seed, so class frequencies match and fold sizes differ by at most one row.
std::vector<int64_t> assign_folds(const std::vector<int64_t>& classes,
                                  int64_t count,
                                  uint64_t seed);

}  // namespace weft::data
