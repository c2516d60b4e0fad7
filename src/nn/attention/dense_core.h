#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/attention/attention_core.h"
#include "nn/attention/attention_parts.h"

namespace weft::nn {

/// What DenseCore computes. A query attends to the keys that are visible in all patterns; without
/// patterns, to all keys.
struct DenseParts {
  std::shared_ptr<ScoreFunction> score;
  std::vector<NamedModifier> modifiers = {};  // applied in this order
  std::vector<std::shared_ptr<MaskPattern>> patterns = {};
  bool has_positions = false;  // those of the options
};

/// The parts that every type has: scaled dot products and, if the options ask for them, the causal
/// mask, the distance bias and the position modifiers.
DenseParts dense_parts(const AttentionOptions& options);

/// Softmax attention over all visible keys (arXiv:1706.03762, equation 1). Runs in the fused
/// kernels if they support all parts; otherwise in plain LibTorch, which holds the scores of a tile
/// in memory. Both drop the same weights on the CPU.
class DenseCore : public AttentionCore {
 public:
  DenseCore(AttentionOptions options, DenseParts parts);

  at::Tensor forward(const CoreInput& input, const ForwardContext& context) override;
  std::vector<at::Tensor> weights(const CoreInput& input, const ForwardContext& context) override;
  bool is_position_independent() const override;
  bool adds_positions() const override { return parts_.has_positions; }

 private:
  /// Sequences by span, in order of the batch.
  using Spans = std::map<AttentionSpan, std::vector<int64_t>>;

  std::optional<kernels::AttentionSettings> fused_settings(const CoreInput& input,
                                                           const ForwardContext& context) const;
  at::Tensor plain_forward(const CoreInput& input, const ForwardContext& context) const;
  /// The same input with query, key and value apart, and `key_begins`.
  CoreInput with_separate_rows(const CoreInput& input) const;
  Spans spans_of(const CoreInput& input, const ForwardContext& context) const;
  AttentionTile tile_of(const Spans::value_type& sequences,
                        const CoreInput& separated_rows,
                        const ForwardContext& context) const;
  /// Before dropout, (G, H, L, S).
  at::Tensor weights_of(const AttentionTile& tile) const;
  /// (H, L, S), true where a query attends to a key.
  at::Tensor visible_pairs(const AttentionTile& tile) const;
  /// Output for some sequences, (G L, H K).
  at::Tensor mix(const Spans::value_type& sequences,
                 const CoreInput& separated_rows,
                 const ForwardContext& context) const;

  AttentionOptions options_;
  DenseParts parts_;
};

}  // namespace weft::nn
