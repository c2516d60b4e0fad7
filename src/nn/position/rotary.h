#pragma once

#include "nn/position/position.h"

namespace weft::nn {

struct RotaryPositionOptions {
  double theta = 10'000;      // base of the wavelengths; of global layers if some are local
  double local_theta = 0;     // of local layers (ModernBERT); 0: the same
  double partial_factor = 1;  // fraction of a head's features that are rotated
  kernels::RotaryScaling scaling = {};

  bool operator==(const RotaryPositionOptions&) const = default;
};

/// Rotated features of a head of K features.
int64_t rotary_width(const RotaryPositionOptions& rotary, int64_t head_dim);

/// Type `rotary` (RoPE, arXiv:2104.09864): the attention rotates queries and keys by angles that
/// grow with the position.
PositionMaker rotary_position(const RotaryPositionOptions& rotary);
PositionMaker read_rotary_position(config::Section& section);

}  // namespace weft::nn
