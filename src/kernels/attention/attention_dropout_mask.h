#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/random_bits.h"

namespace weft::kernels {

/// Attention weights of some sequences that have, or are padded to, the same lengths.
struct WeightShape {
  std::vector<int64_t> sequences;     // indices in the batch
  std::vector<int64_t> numbers = {};  // of groups of their tokens (AttentionGroups); empty: 0
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
};

/// Dropout of attention weights in plain LibTorch, with the random bits of the fused kernels on the
/// CPU: 0 or the scale for each weight, (sequences, heads, queries, keys) fp32.
at::Tensor attention_dropout_mask(const WeightShape& shape,
                                  double p,
                                  const RngKey& rng_key,
                                  const at::Device& device);

}  // namespace weft::kernels
