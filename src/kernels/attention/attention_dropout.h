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

/// Keeps each weight with probability 1 - p and scales it by 1 / (1 - p), with the random bits of
/// the fused attention on the CPU. weights (sequences, heads, queries, keys), or broadcast to it ->
/// that shape. On the CPU no mask is kept: the backward pass draws the bits again.
at::Tensor attention_dropout(const at::Tensor& weights,
                             const WeightShape& shape,
                             double p,
                             const RngKey& rng_key);

/// The factors of attention_dropout in plain LibTorch: 0 or the scale for each weight, (sequences,
/// heads, queries, keys) fp32.
at::Tensor attention_dropout_mask(const WeightShape& shape,
                                  double p,
                                  const RngKey& rng_key,
                                  const at::Device& device);

}  // namespace weft::kernels
