#include "nn/frequency_clusters.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/string_util.h"

namespace weft::nn {

std::vector<int64_t> FrequencyClusters::bounds(int64_t vocabulary, std::string_view place) const {
  auto result = cutoffs;
  if (!result.empty() && result.back() >= vocabulary) {
    throw UserError(str_cat(place, ".cutoffs: ", result.back(), ", must be below ", vocabulary,
                            ", the size of the vocabulary"));
  }
  result.push_back(vocabulary);
  return result;
}

int64_t FrequencyClusters::width(int64_t dim, std::size_t cluster) const {
  auto result = static_cast<double>(dim);
  for (std::size_t i = 0; i < cluster; ++i) {
    result /= factor;
  }
  return std::max<int64_t>(1, static_cast<int64_t>(result));
}

FrequencyClusters read_frequency_clusters(config::Section& section) {
  FrequencyClusters clusters;
  section.read("cutoffs", clusters.cutoffs,
               {.help = "Ranks, by frequency in the training data, at which the clusters after the "
                        "first begin. [2000, 10000]: the 2000 most frequent tokens are in the "
                        "first, with all dimensions.",
                .unit = "tokens",
                .range = config::between(1, 1 << 28)});
  if (std::ranges::adjacent_find(clusters.cutoffs, std::greater_equal<>()) !=
      clusters.cutoffs.end()) {
    section.fail("cutoffs", "each must be above the one before it");
  }
  section.read("factor", clusters.factor,
               {.help = "Each cluster has this many times fewer dimensions than the one before it.",
                .range = config::between(1, 1024)});
  return clusters;
}

std::vector<int64_t> ranks_of(const at::Tensor& tokens, int64_t vocabulary, std::string_view what) {
  const auto on_host = tokens.cpu().contiguous();
  const auto* ids = on_host.const_data_ptr<int64_t>();
  std::vector<int64_t> ranks(static_cast<std::size_t>(vocabulary), -1);
  for (int64_t rank = 0; rank < on_host.numel(); ++rank) {
    if (ids[rank] < 0 || ids[rank] >= vocabulary ||
        std::exchange(ranks[static_cast<std::size_t>(ids[rank])], rank) >= 0) {
      throw UserError(str_cat("model.safetensors: ", what, " is damaged"));
    }
  }
  return ranks;
}

std::vector<int64_t> by_frequency(const std::vector<int64_t>& counts) {
  std::vector<int64_t> tokens(counts.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  std::stable_sort(tokens.begin(), tokens.end(), [&](int64_t a, int64_t b) {
    return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
  });
  return tokens;
}

}  // namespace weft::nn
