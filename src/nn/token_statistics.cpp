#include "nn/token_statistics.h"

#include <algorithm>
#include <numeric>

namespace weft::nn {

std::vector<int64_t> by_frequency(const std::vector<int64_t>& counts) {
  std::vector<int64_t> tokens(counts.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  std::stable_sort(tokens.begin(), tokens.end(), [&](int64_t a, int64_t b) {
    return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
  });
  return tokens;
}

}  // namespace weft::nn
