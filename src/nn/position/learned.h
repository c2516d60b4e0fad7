#pragma once

#include "nn/position/position.h"

namespace weft::nn {

/// Type `learned`: a vector for each position (arXiv:1705.03122).
std::shared_ptr<Position> make_learned_position(const PositionOptions& options);
PositionMaker read_learned_position(config::Section& section);

}  // namespace weft::nn
