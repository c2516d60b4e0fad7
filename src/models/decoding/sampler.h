#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/decoding/search_options.h"

namespace weft::models {

struct TokenShare {
  int64_t token = 0;
  double share = 0;  // all together: 1
};

/// The tokens that may be drawn, in the order of their ids. Scores are divided by the temperature,
/// then cut to the k likeliest, to the mass p, to the share of the likeliest. Throws UserError
/// where no score is finite.
std::vector<TokenShare> token_shares(std::span<const float> scores, const Sampling& sampling);

/// Draws one of them: a pure function of the scores and of (seed, item, place).
int64_t draw_token(std::span<const float> scores,
                   const Sampling& sampling,
                   uint64_t item,
                   uint64_t place);

}  // namespace weft::models
