#pragma once

#include <cstdint>
#include <memory>

#include "nn/attention/patterns/sparse_pattern.h"

namespace weft::nn {

/// Chunks of consecutive tokens. A token attends to its own chunk and to chunks beside it; beside
/// the first chunk is the last one, as in transformers' Reformer.
struct NeighbourChunkOptions {
  int64_t length = 64;   // tokens of a chunk
  int64_t before = 1;    // chunks before its own
  int64_t after = 0;     // and behind
  int64_t multiple = 1;  // of a text's length to count its chunks; a multiple of `length`
};

std::shared_ptr<SparsePattern> make_neighbour_chunks(const NeighbourChunkOptions& options);

}  // namespace weft::nn
