#pragma once

#include <vector>

#include "kernels/attention/attention.h"
#include "nn/attention/attention.h"
#include "nn/attention/attention_parts.h"

namespace weft::nn {

/// Input of a core: the projections of a layer's own tokens side by side (`qkv`), or separate rows.
struct CoreInput {
  at::Tensor qkv = {};     // (N, (H + 2 G) K): query, key and value of each token
  at::Tensor rotary = {};  // rotary table for the queries and keys in `qkv`; undefined: none
  kernels::AttentionInput rows = {};  // used if `qkv` is undefined; already rotated
  const kernels::Layout& queries;
  const kernels::Layout& keys;   // same as `queries` for qkv
  kernels::RngKey rng_key = {};  // of the dropout of the weights
  kernels::DistanceVectors distance_vectors = {};
};

/// The part of an attention layer between its input and output projections: mixes the values of a
/// sequence for each of its queries.
class AttentionCore : public torch::nn::Module {
 public:
  /// -> (N, H K)
  virtual at::Tensor forward(const CoreInput& input, const ForwardContext& context) = 0;

  /// Attention::weights. Throws c10::Error for cores that have no such weights.
  virtual std::vector<at::Tensor> weights(const CoreInput& input, const ForwardContext& context);

  /// Whether forward() continues from what it keeps in ForwardContext::decoding_state. Otherwise it
  /// gets the keys and values of all tokens from a KV cache.
  virtual bool keeps_decoding_state() const { return false; }

  /// Whether the positions of queries and keys have no effect, so that queries may be left out.
  virtual bool is_position_independent() const { return false; }

  /// Attention::adds_positions
  virtual bool adds_positions() const { return false; }
};

/// Query, key and value in `qkv`, as rows; queries and keys are rotated by the table's rows
/// `positions` (N) if there is a table.
kernels::AttentionInput separate_rows(const at::Tensor& qkv,
                                      const at::Tensor& rotary,
                                      const at::Tensor& positions,
                                      const AttentionOptions& options);

/// The span of sequence b of a core's input.
AttentionSpan span_of(const CoreInput& input,
                      int64_t b,
                      bool is_causal,
                      const ForwardContext& context);

/// The rows of sequence b in x (N, H' K) by head, in fp32 or fp64: (H, L, K). Shared heads are
/// repeated.
at::Tensor heads_of_sequence(const at::Tensor& x,
                             const kernels::Layout& layout,
                             int64_t b,
                             const AttentionOptions& options);

/// Softmax attention with all heads, or, if `by_head`, with heads as rows.
kernels::AttentionSettings attention_settings(const AttentionOptions& options,
                                              const ForwardContext& context,
                                              bool by_head);

/// Attention dropout of cores without weights: on the mixed values (N, H K).
at::Tensor drop_mixed_values(const at::Tensor& values,
                             const AttentionOptions& options,
                             const CoreInput& input,
                             const ForwardContext& context);

/// Query, key and value of a core's input apart, rotated; `key_begins` is set.
kernels::AttentionInput separated(const CoreInput& input, const AttentionOptions& options);

}  // namespace weft::nn
