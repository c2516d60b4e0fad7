#pragma once

#include "kernels/attention/attention.h"
#include "nn/attention/attention.h"
#include "nn/linear.h"
#include "nn/position/rotary_angles.h"

namespace weft::nn {

/// Each token attends to all tokens of its sequence (arXiv:1706.03762, section 3.2) or, if causal,
/// to itself and those before it.
class FullAttention : public Attention {
 public:
  explicit FullAttention(const AttentionOptions& options);

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override;
  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection) override;
  std::vector<at::Tensor> weights(const at::Tensor& x, const ForwardContext& context) override;

 private:
  /// Input of the output projection, (N, H K).
  at::Tensor attend(const at::Tensor& x, const ForwardContext& context);
  /// The selected rows of attend(), (M, H K).
  at::Tensor attend_selected(const at::Tensor& x,
                             const ForwardContext& context,
                             const RowSelection& selection);
  /// attend() with the keys and values of earlier passes.
  at::Tensor attend_with_cache(const at::Tensor& qkv, const ForwardContext& context);
  kernels::AttentionSettings settings(const at::Tensor& x, const ForwardContext& context);
  /// Whether the positions of queries and keys in the sequence have no effect.
  bool is_position_independent() const;
  /// Tokens visible on each side; negative: all.
  virtual int64_t window_radius() const { return -1; }

  AttentionOptions options_;
  RotaryAngles angles_;
  Linear qkv_{nullptr};  // weight ((H + 2 G) K, D): rows of query, then key, then value
  Linear output_{nullptr};
};

/// Type `full`; it has no keys of its own.
AttentionMaker read_full_attention(config::Section& section);
std::shared_ptr<Attention> make_full_attention(const AttentionOptions& options);

}  // namespace weft::nn
