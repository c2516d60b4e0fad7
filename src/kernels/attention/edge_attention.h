#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/attention/attention.h"
#include "kernels/layout.h"
#include "kernels/random_bits.h"

namespace weft::kernels {

/// The keys that queries attend to, one by one: the edges of a graph.
struct AttentionEdges {
  /// (N + 1) query i has the edges begins[i] to before begins[i + 1].
  std::vector<int64_t> begins{0};
  std::vector<int32_t> keys = {};   // (E) rows of the keys
  std::vector<int32_t> kinds = {};  // (E) rows of the vectors of edges
};

/// Softmax attention along edges, of which each query has at least one. Before it is scaled, the
/// score of an edge is q . (k + vectors[kind]) (arXiv:1911.04070, section 3.2). vectors (kinds, K),
/// for all heads; undefined: none. Of `settings` it uses the numbers of heads, the scale and the
/// dropout, whose random bits follow from the sequence, the head and the number of the edge in the
/// sequence. -> (N, H K). Keeps one number for each edge and head for the backward pass.
at::Tensor edge_attention(const AttentionInput& input,
                          const Layout& queries,
                          const std::shared_ptr<const AttentionEdges>& edges,
                          const at::Tensor& vectors,
                          const AttentionSettings& settings,
                          const RngKey& rng_key);

namespace reference {

/// The same in plain LibTorch, for every device and type. Holds the keys and values of all edges in
/// memory.
at::Tensor edge_attention(const AttentionInput& input,
                          const Layout& queries,
                          const AttentionEdges& edges,
                          const at::Tensor& vectors,
                          const AttentionSettings& settings,
                          const RngKey& rng_key);

}  // namespace reference

}  // namespace weft::kernels
