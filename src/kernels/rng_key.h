#pragma once

#include <cstdint>

namespace weft::kernels {

/// Key of one dropout call: each element's random bits are a pure function of (seed, step, site)
/// and of the element's position in the whole step: row `first_row + i` of the packed tokens, or
/// sequence `first_sequence + b`. So splitting a step into micro-batches does not change the bits.
/// GPUs use their own generator (gpu.h).
struct RngKey {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint32_t site = 0;  // which dropout of the model
  int64_t first_row = 0;
  int64_t first_sequence = 0;
};

}  // namespace weft::kernels
