#pragma once

#include "nn/position/position.h"

namespace weft::nn {

struct SinusoidalOptions {
  bool is_interleaved = true;  // sines and cosines alternate; otherwise all sines come first
};

/// Sines and cosines of positions 0, 1, ...: (positions, dim) fp32.
at::Tensor sinusoids(int64_t positions, int64_t dim, bool is_interleaved);

/// Type `sinusoidal`: sines and cosines with wavelengths from 2 pi to 10,000 * 2 pi
/// (arXiv:1706.03762, section 3.5), not learned.
PositionMaker sinusoidal_position(const SinusoidalOptions& sinusoidal);
PositionMaker read_sinusoidal_position(config::Section& section);

}  // namespace weft::nn
