#pragma once

#include <cstdint>
#include <vector>

#include "kernels/chance.h"
#include "kernels/layout.h"
#include "nn/memory.h"

namespace weft::nn {

class AttentionTrace;
class DecodingCache;

/// What all modules of one forward pass need to know.
struct Pass {
  kernels::Layout layout;
  bool is_training = false;  // dropout on
  uint64_t seed = 0;
  uint64_t step = 0;
  int64_t first_row = 0;  // tokens and sequences of the step that came in earlier micro-batches
  int64_t first_sequence = 0;
  int64_t first_target = 0;         // and targets of the loss
  int64_t first_source_row = 0;     // and tokens of the sources
  bool recomputes_layers = false;   // a layer keeps its input alone for the backward pass
  AttentionTrace* trace = nullptr;  // who wants to see attention weights, if anyone
  const Memory* memory = nullptr;   // of the encoder, for blocks with cross attention
  DecodingCache* cache = nullptr;   // keys and values of earlier passes (nn/decoding_cache.h)
  /// Tokens at the begin of each sequence that causal attention too shows to all of its tokens
  /// (prefix LM, arXiv:1910.10683, section 3.2.1); empty: none.
  std::vector<int64_t> prefixes = {};
  /// What the stack adds to the scores by distance (kernels::AttentionSettings); stacks set it.
  at::Tensor distance_bias = {};

  /// A dropout's rate in this pass.
  double rate(double dropout) const { return is_training ? dropout : 0.0; }

  kernels::Chance chance(uint32_t site) const {
    return {.seed = seed,
            .step = step,
            .site = site,
            .first_row = first_row,
            .first_sequence = first_sequence};
  }

  /// For tensors with one row a sequence, (B, D), not a token.
  kernels::Chance sequence_chance(uint32_t site) const {
    auto result = chance(site);
    result.first_row = first_sequence;
    return result;
  }
};

}  // namespace weft::nn
