#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nn/attention/attention.h"

namespace weft::nn {

/// LSH attention as published (arXiv:2001.04451, section 2), and as transformers' Reformer has it:
/// the tokens are sorted by bucket, and this order is cut into chunks.
struct SortedHashOptions {
  int64_t length = 64;                // tokens of a chunk; shorter texts have full attention
  int64_t before = 1;                 // chunks before its own that a token attends to
  int64_t after = 0;                  // and after
  int64_t multiple = 64;              // of a text's length to count its chunks
  std::vector<int64_t> buckets = {};  // even factors of their number; empty: by the text's length
  int64_t most_buckets = 128;         // of one factor, where their number is chosen
  int64_t rounds = 1;                 // of hashing
  std::optional<int64_t> seed = {};   // of LibTorch's generator of the rotations; none: our own
};

std::shared_ptr<Attention> make_sorted_hash_attention(const AttentionOptions& options,
                                                      const SortedHashOptions& own);

}  // namespace weft::nn
