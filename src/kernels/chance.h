#pragma once

#include <cstdint>

namespace weft::kernels {

/// Names the random bits of one use of chance in a forward pass. The bit of an element is a pure
/// function of (seed, step, site) and of the element's place in the whole step: row `first_row + i`
/// of the packed tokens, or sequence `first_sequence + b`. So a step cut into micro-batches draws
/// the same bits as the step in one piece; a GPU draws its own (gpu.h).
struct Chance {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint32_t site = 0;  // which dropout of the model
  int64_t first_row = 0;
  int64_t first_sequence = 0;
};

}  // namespace weft::kernels
