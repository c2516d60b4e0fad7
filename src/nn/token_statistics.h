#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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

}  // namespace weft::nn
