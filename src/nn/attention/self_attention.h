#pragma once

#include <memory>

#include "kernels/attention/rotary.h"
#include "nn/attention/attention_core.h"
#include "nn/attention/attention_parts.h"
#include "nn/attention/memory/segment_memory.h"
#include "nn/attention/scores/distance_projection.h"
#include "nn/growing_table.h"
#include "nn/linear.h"

namespace weft::nn {

/// What a type of self-attention consists of.
struct SelfAttentionParts {
  std::shared_ptr<AttentionCore> core;
  /// Shortens the keys and values of each sequence, not for causal models; nullptr: none. Both may
  /// be the same, and must give the same layout.
  std::shared_ptr<SequenceReducer> key_reducer = nullptr;
  std::shared_ptr<SequenceReducer> value_reducer = nullptr;
  /// What a sequence sees of the earlier ones of its stream, in causal models.
  SegmentMemory memory = {};
};

/// Linear layers of a width: query, key and value side by side; the output.
Linear qkv_projection(const AttentionOptions& options);
Linear output_projection(const AttentionOptions& options);

/// Table of RoPE angles, recomputed when a longer sequence arrives.
class RotaryAngles {
 public:
  explicit RotaryAngles(const AttentionOptions& options);

  /// For the positions of these sequences and for the places of their tokens, by which fused
  /// kernels rotate: (rows, width). Undefined if theta is 0, i.e. without RoPE.
  at::Tensor table(const kernels::Layout& layout, const at::Device& device);

 private:
  kernels::RotaryOptions options_;
  GrowingTable table_;
};

/// Input projection, rotary positions, KV cache, reduction of keys and values, core, and output
/// projection.
class SelfAttention : public Attention {
 public:
  SelfAttention(const AttentionOptions& options, const SelfAttentionParts& parts);

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override;
  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection) override;
  bool adds_positions() const override {
    return parts_.key_reducer == nullptr && reaches_memory() && parts_.core->adds_positions();
  }
  std::vector<at::Tensor> weights(const at::Tensor& x, const ForwardContext& context) override;
  void gate_keys(const ComputationGateMaker& make) override;

 private:
  /// Query, key and value of each row, (N, (H + 2 G) K), with gated keys and values. Queries that
  /// are not selected may be left at zero.
  at::Tensor project(const at::Tensor& x,
                     const ForwardContext& context,
                     const RowSelection* queries = nullptr);
  /// The keys and values alone, (N, 2 G K). For a fused path.
  at::Tensor keys_and_values(const at::Tensor& x, const ForwardContext& context);
  /// Input of the output projection, (N, H K).
  at::Tensor attend(const at::Tensor& x, const ForwardContext& context);
  /// The selected rows of attend(), (M, H K).
  at::Tensor attend_selected(const at::Tensor& x,
                             const ForwardContext& context,
                             const RowSelection& selection);
  /// attend() with the keys and values of earlier passes, for all queries or the selected ones, of
  /// which a sequence has at most one.
  at::Tensor attend_with_cache(const at::Tensor& qkv,
                               const ForwardContext& context,
                               const RowSelection* queries = nullptr);
  /// attend() with the last tokens of earlier steps.
  at::Tensor attend_with_memory(const at::Tensor& x, const ForwardContext& context);
  /// Adds the loss of the memory's compression: how much the attention of the sequences' tokens to
  /// the compressed rows differs from that to the rows, without positions.
  void add_compression_loss(const at::Tensor& x,
                            const std::vector<CompressedRows>& compressed,
                            const ForwardContext& context);
  /// attend() with fewer keys and values.
  at::Tensor attend_reduced(const at::Tensor& qkv, const ForwardContext& context);
  at::Tensor rotary_table(const ForwardContext& context, const at::Device& device);
  kernels::RngKey rng_key(const ForwardContext& context) const;
  kernels::DistanceVectors distance_vectors(const ForwardContext& context);
  bool is_position_independent() const;
  /// Whether the positions of the options hold for the memory, too: biases and vectors of distances
  /// end with the sequence.
  bool reaches_memory() const {
    return parts_.memory.size == 0 || (!options_.has_distance_bias && !options_.distance_scores);
  }

  AttentionOptions options_;
  SelfAttentionParts parts_;
  RotaryAngles angles_;
  Linear qkv_{nullptr};  // weight ((H + 2 G) K, D): rows of query, then key, then value
  Linear output_{nullptr};
  ComputationGate key_gate_{nullptr};      // null: none
  DistanceProjection distances_{nullptr};  // null: no scores of distances
};

/// Self-attention with this core.
std::shared_ptr<Attention> attention_with_core(const AttentionOptions& options,
                                               std::shared_ptr<AttentionCore> core);

}  // namespace weft::nn
