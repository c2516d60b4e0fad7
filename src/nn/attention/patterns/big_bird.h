#pragma once

#include "nn/attention/patterns/sparse_pattern.h"

namespace weft::nn {

struct BigBirdOptions {
  int64_t block = 64;         // tokens
  int64_t random_blocks = 3;  // for each block, other ones in each head and layer
  int64_t window_blocks = 3;  // neighbours, itself included; odd
  int64_t seed = 0;           // of the random blocks
};

/// Pattern `big_bird` (arXiv:2007.14062, section 2): blocks of tokens that see their neighbours,
/// random blocks, and the first and the last block, which see all. Short sequences have full
/// attention. Throws config::Error for causal models.
PatternMaker read_big_bird_pattern(config::Section& section);
std::shared_ptr<SparsePattern> make_big_bird_pattern(const BigBirdOptions& options, int64_t layer);

}  // namespace weft::nn
