#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/chance.h"
#include "kernels/layout.h"

namespace weft::kernels {

struct AttentionSettings {
  int64_t heads = 1;       // H
  int64_t key_heads = 0;   // G: heads of keys and values, each read by H / G heads of queries; 0: H
  double scale = 0;        // of the scores; 0: 1 / sqrt(K)
  bool is_causal = false;  // a token sees itself and those before it
  /// Causal: keys at the begin of each sequence that all of its queries see, those before them too
  /// (arXiv:1910.10683, section 3.2.1); empty: none.
  std::vector<int64_t> prefixes = {};
  int64_t reach = -1;      // tokens on each side that a token sees; negative: all
  double dropout = 0;      // on the attention weights; 0 outside training
  at::Tensor rotary = {};  // a rotary_table that turns queries and keys, or the first features of
                           // each of their heads; undefined: none
  /// Added to the scores by distance, differentiable; undefined: nothing. (H, 2 S - 1) fp32: query
  /// i and key j get column j - i + S - 1, or the nearest there is. Causal queries count from the
  /// end: the last one stands where the last key does.
  at::Tensor distance_bias = {};
};

/// Softmax attention inside each sequence of the layout (arXiv:1706.03762). qkv (N, (H + 2 G) K):
/// query, key and value of each token side by side -> (N, H K). Sequences of like length go
/// together; no token sees another sequence.
at::Tensor attention(const at::Tensor& qkv,
                     const Layout& layout,
                     const AttentionSettings& settings,
                     const Chance& chance);

/// Queries that are not the keys: those of a decoder for the states of an encoder, or the newest
/// ones of sequences whose keys are kept. Rows may lie apart; the features of a row may not.
struct AttentionInput {
  at::Tensor query;       // (N, H K)
  at::Tensor key;         // (M, G K), or (M, 2 G K) with the values behind the keys
  at::Tensor value = {};  // (M, G K), or undefined: `key` has them
  /// Where the keys of each sequence begin, if not one sequence after the other: the layout of keys
  /// then says how many there are.
  std::vector<int64_t> key_begins = {};
};

/// Queries of sequence b see keys of sequence b -> (N, H K). Causal: the last query sees all keys,
/// the one before all but the last, and so on; places for rotary positions, the reach and the
/// distances count from the end likewise.
at::Tensor attention(const AttentionInput& input,
                     const Layout& queries,
                     const Layout& keys,
                     const AttentionSettings& settings,
                     const Chance& chance);

}  // namespace weft::kernels
