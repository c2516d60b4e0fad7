#pragma once

#include "nn/position/position.h"

namespace weft::nn {

/// Type `tupe`: scores of two positions, with projections of their own that all layers share,
/// beside those of the contents (arXiv:2006.15595, equation 10); the first token, [CLS], has scores
/// that do not depend on positions (equation 12).
PositionMaker read_tupe_position(config::Section& section);

}  // namespace weft::nn
