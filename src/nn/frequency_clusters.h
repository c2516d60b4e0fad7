#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/section.h"

namespace weft::nn {

/// The training data as embeddings and output layers see them.
struct TokenStatistics {
  std::vector<int64_t> counts;                     // V: how often each token is a target
  std::function<std::string(int64_t)> token = {};  // the text of a token
  /// The texts of all tokens of another model, given its directory. Throws UserError.
  std::function<std::vector<std::string>(const std::string&)> tokens_of = {};
};

/// Tokens by falling count, equal ones by id.
std::vector<int64_t> by_frequency(const std::vector<int64_t>& counts);

/// Tokens in clusters by falling frequency; each has fewer dimensions than the one before it.
struct FrequencyClusters {
  std::vector<int64_t> cutoffs = {2000, 10000};  // first ranks of the clusters after the first
  double factor = 4;

  /// The cutoffs and V. Throws UserError, for `cutoffs` in the section `place`, unless they are
  /// below V.
  std::vector<int64_t> bounds(int64_t vocabulary, std::string_view place) const;
  /// Dimensions of a cluster, of `dim` in the first.
  int64_t width(int64_t dim, std::size_t cluster) const;

  bool operator==(const FrequencyClusters&) const = default;
};

/// Reads `cutoffs` and `factor`. Throws config::Error.
FrequencyClusters read_frequency_clusters(config::Section& section);

/// The place of each of V tokens in a list of different tokens, -1 if it is not there. Throws
/// UserError, which names `what`, if it is no such list.
std::vector<int64_t> ranks_of(const at::Tensor& tokens, int64_t vocabulary, std::string_view what);

}  // namespace weft::nn
