#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"
#include "kernels/random_bits.h"

namespace weft::kernels {

/// Vectors of the distances between tokens (arXiv:2006.03654, equation 4; arXiv:1901.02860, section
/// 3.3): before it is scaled, the score of query i and key j grows by (q_i + query_bias) . keys[c]
/// + k_j . queries[c], where c is the row of the distance j - i. Differentiable.
struct DistanceVectors {
  at::Tensor keys = {};        // (R, H K); undefined: no such term
  at::Tensor queries = {};     // the same
  at::Tensor query_bias = {};  // (H K), or undefined: zero
  /// Row of the distance j - i at j - i + rows.size() / 2, for all distances that occur.
  std::shared_ptr<const std::vector<int32_t>> rows = nullptr;

  bool is_empty() const { return !keys.defined() && !queries.defined(); }
};

struct AttentionSettings {
  int64_t heads = 1;       // H
  int64_t key_heads = 0;   // G: number of key/value heads, each used by H / G query heads; 0: H
  double scale = 0;        // of the scores; 0: 1 / sqrt(K)
  bool is_causal = false;  // a token attends to itself and the tokens before it
  /// Causal only: number of leading keys of each sequence that all its queries attend to, including
  /// earlier queries (arXiv:1910.10683, section 3.2.1); empty: none.
  std::vector<int64_t> prefix_lengths = {};
  int64_t window_radius = -1;  // tokens on each side that a token attends to; negative: all
  double dropout = 0;          // on the attention weights; 0 outside training
  at::Tensor rotary = {};  // a rotary_table that rotates queries and keys, or the first features of
                           // each of their heads; undefined: none
  /// Relative position bias added to the scores, differentiable; undefined: none. (H, 2 S - 1)
  /// fp32: query i and key j use column j - i + S - 1, clamped to the valid range. Causal queries
  /// are aligned with the end: the last query has the position of the last key.
  at::Tensor distance_bias = {};
  /// (H K) added to the queries, differentiable; undefined: none.
  at::Tensor query_bias = {};
  /// Only with as many key heads as heads, without a rotary table and a bias of distances.
  DistanceVectors distance_vectors = {};

  int64_t key_heads_or_heads() const { return key_heads > 0 ? key_heads : heads; }
  /// For heads of `width` features.
  double scale_or_default(int64_t width) const {
    return scale != 0.0 ? scale : 1.0 / std::sqrt(static_cast<double>(width));
  }
};

/// Softmax attention within each sequence of the layout (arXiv:1706.03762). qkv (N, (H + 2 G) K):
/// query, key and value of each token side by side -> (N, H K). Sequences of similar length are
/// processed together; no token attends to another sequence.
at::Tensor attention(const at::Tensor& qkv,
                     const Layout& layout,
                     const AttentionSettings& settings,
                     const RngKey& rng_key);

/// For sequences that are groups of tokens of longer sequences, as in sparse attention.
struct AttentionGroups {
  /// Of each group: the sequence that it belongs to, and a number that no other group of that
  /// sequence has. Together they determine the dropout of the weights.
  std::vector<int64_t> sequences = {};
  std::vector<int64_t> numbers = {};
  /// First word of each group in `mask`; -1: its queries attend to all of its keys.
  std::vector<int64_t> mask_begins = {};
  /// A row of mask_words(keys) words for each query: it attends to key j if bit j % 16 of word
  /// j / 16 is set. At least one must be.
  std::vector<uint16_t> mask = {};

  static int64_t mask_words(int64_t keys) { return (keys + 15) / 16; }
  /// Sets the bits of the keys from `begin` to before `end` in the row of a query.
  static void show_keys(uint16_t* row, int64_t begin, int64_t end);
};

/// Queries with separate keys: decoder queries over encoder states, or the newest tokens of
/// sequences with a KV cache. Rows may be strided; the features of a row must be contiguous.
struct AttentionInput {
  at::Tensor query;       // (N, H K)
  at::Tensor key;         // (M, G K), or (M, 2 G K) with the values after the keys
  at::Tensor value = {};  // (M, G K), or undefined: included in `key`
  /// First key row of each sequence, unless the sequences are consecutive; the layout of keys then
  /// gives the lengths only.
  std::vector<int64_t> key_begins = {};
  /// Only without causal masks, windows, rotary tables, biases and distance vectors; nullptr:
  /// sequences are no groups.
  std::shared_ptr<const AttentionGroups> groups = nullptr;
};

/// Queries of sequence b attend to keys of sequence b -> (N, H K). Causal: the last query sees all
/// keys, the one before all but the last, and so on; rotary positions, the window and distances are
/// aligned with the end in the same way.
at::Tensor attention(const AttentionInput& input,
                     const Layout& queries,
                     const Layout& keys,
                     const AttentionSettings& settings,
                     const RngKey& rng_key);

/// Attention over a part of the keys.
struct PartialAttention {
  at::Tensor out = {};  // (N, H K)
  at::Tensor lse = {};  // (N, H) fp32: log of the sum of the exponentials of the scores
};

/// The same with the sums that it divides by, both differentiable: then attention over disjoint
/// sets of keys can be merged (arXiv:2001.04451, section 2). Every query needs a key.
PartialAttention partial_attention(const AttentionInput& input,
                                   const Layout& queries,
                                   const Layout& keys,
                                   const AttentionSettings& settings,
                                   const RngKey& rng_key);

}  // namespace weft::kernels
