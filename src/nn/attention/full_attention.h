#pragma once

#include "kernels/attention/attention.h"
#include "nn/attention/attention.h"
#include "nn/linear.h"
#include "nn/position/rotary_angles.h"

namespace weft::nn {

/// Every token sees every token of its sequence (arXiv:1706.03762, section 3.2), or those before
/// it.
class FullAttention : public Attention {
 public:
  explicit FullAttention(const AttentionOptions& options);

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override;
  at::Tensor rows(const at::Tensor& x, const Pass& pass, const ChosenRows& chosen) override;
  std::vector<at::Tensor> weights(const at::Tensor& x, const Pass& pass) override;

 private:
  /// What the output projection gets, (N, H K).
  at::Tensor mixed(const at::Tensor& x, const Pass& pass);
  /// Some rows of it, (M, H K).
  at::Tensor mixed_rows(const at::Tensor& x, const Pass& pass, const ChosenRows& chosen);
  /// The same with the keys and values of earlier passes.
  at::Tensor continued(const at::Tensor& qkv, const Pass& pass);
  kernels::AttentionSettings settings(const at::Tensor& x, const Pass& pass);
  /// Are a query's place in its sequence and that of the keys of no matter?
  bool is_blind_to_places() const;
  /// Tokens on each side that a token sees; negative: all.
  virtual int64_t reach() const { return -1; }

  AttentionOptions options_;
  RotaryAngles angles_;
  std::shared_ptr<Linear> qkv_;  // weight ((H + 2 G) K, D): rows of query, then key, then value
  std::shared_ptr<Linear> output_;
};

}  // namespace weft::nn
