#pragma once

#include <memory>

#include "nn/attention/attention_core.h"

namespace weft::nn {

/// Positive features of queries or keys: exp(log_scale) * values.
struct Features {
  at::Tensor values;     // (N, H, R)
  at::Tensor log_scale;  // (N, H), of keys only, no gradient; undefined: 0
};

/// What linear attention takes for exp(q . k): the product of the features of query and key.
class FeatureMap : public torch::nn::Module {
 public:
  /// x (N, H, K) fp32 or fp64
  virtual Features query_features(const at::Tensor& x) = 0;
  virtual Features key_features(const at::Tensor& x) = 0;
  /// Called before each pass in training.
  virtual void begin_step(uint64_t /*step*/) {}
};

/// Attention whose weights are products of features (arXiv:2006.16236): the keys and values of a
/// sequence are summed up once, or in causal attention as a running sum over chunks of tokens, so
/// that time and memory grow linearly with the length. Generation keeps the sum alone. Nothing is
/// added to the denominator: features are positive, and an added constant would let later keys
/// change earlier outputs.
class LinearCore : public AttentionCore {
 public:
  LinearCore(AttentionOptions options, std::shared_ptr<FeatureMap> map);

  at::Tensor forward(const CoreInput& input, const ForwardContext& context) override;
  std::vector<at::Tensor> weights(const CoreInput& input, const ForwardContext& context) override;
  bool keeps_decoding_state() const override { return true; }

 private:
  AttentionOptions options_;
  std::shared_ptr<FeatureMap> map_;
};

}  // namespace weft::nn
