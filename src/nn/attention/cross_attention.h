#pragma once

#include <memory>
#include <vector>

#include "nn/attention/attention_core.h"
#include "nn/attention/kv_cache.h"
#include "nn/linear.h"

namespace weft::nn {

/// Each decoder token attends to all states of its encoder (arXiv:1706.03762, section 3.2.3).
class CrossAttention : public Sublayer {
 public:
  explicit CrossAttention(const AttentionOptions& options);

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override;
  bool mixes_tokens() const override { return false; }
  void gate_keys(const ComputationGateMaker& make) override;

  /// Attention weights (H, L, S) in fp32 of each sequence, without dropout.
  std::vector<at::Tensor> weights(const at::Tensor& x, const ForwardContext& context);

 private:
  at::Tensor attend(const at::Tensor& query, const ForwardContext& context);
  /// Keys and values of the encoder states, (M, 2 G K).
  at::Tensor source_rows(const ForwardContext& context);
  /// Keys and values of the encoder states while decoding, computed once.
  CachedKv cached_source(const ForwardContext& context);

  AttentionOptions options_;
  std::shared_ptr<AttentionCore> core_;
  Linear query_{nullptr};
  Linear key_value_{nullptr};  // weight (2 G K, D): rows of key, then value
  Linear output_{nullptr};
  ComputationGate key_gate_{nullptr};  // null: none
};

std::shared_ptr<Sublayer> make_full_cross_attention(const AttentionOptions& options);

}  // namespace weft::nn
