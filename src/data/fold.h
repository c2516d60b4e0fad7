#pragma once

#include <cstdint>

namespace weft::data {

/// One of several equal parts of the rows (k-fold cross-validation).
struct Fold {
  int64_t count = 0;         // 0: no folds, all rows
  int64_t number = 1;        // from 1 to count
  bool is_held_out = false;  // true: the rows of this fold; false: all others
  uint64_t seed = 0;
};

}  // namespace weft::data
