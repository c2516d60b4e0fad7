#pragma once

#include <optional>
#include <vector>

#include "nn/position/position.h"

namespace weft::nn {

struct AlibiOptions {
  std::vector<double> slopes = {};  // one for each head; empty: alibi_slopes
};

/// Slopes of H heads. A power of two: 2^(-8 (h + 1) / H) (arXiv:2108.12409, section 3). Other
/// numbers: those of the next lower power of two, then every second one of twice as many heads, as
/// in the code of the authors.
std::vector<double> alibi_slopes(int64_t heads);

/// Type `alibi`: a score decreases with the distance of query and key, by the slope of its head.
PositionMaker alibi_position(const AlibiOptions& alibi);
PositionMaker read_alibi(config::Section& section);

}  // namespace weft::nn
