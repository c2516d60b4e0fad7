#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/decoding/search_options.h"

namespace weft::models {

struct TokenProbability {
  int64_t token = 0;
  double probability = 0;  // all sum to 1
};

/// Candidate tokens, in order of their ids. Scores are divided by the temperature, then filtered by
/// top_k, top_p and min_p. Throws UserError where no score is finite.
std::vector<TokenProbability> token_probabilities(std::span<const float> scores,
                                                  const Sampling& sampling);

/// Position for sample_token of a new token of one of a prompt's samples.
inline uint64_t sample_position(uint64_t sample, uint64_t token) { return (sample << 32) | token; }

/// Samples one candidate: a pure function of the scores and of (seed, item, position).
int64_t sample_token(std::span<const float> scores,
                     const Sampling& sampling,
                     uint64_t item,
                     uint64_t position);

}  // namespace weft::models
