#pragma once

#include "nn/attention/attention_parts.h"

namespace weft::nn {

/// The dot product of query and key times `scale` (arXiv:1706.03762, equation 1).
class DotProductScore : public ScoreFunction {
 public:
  /// scale 0: 1 / sqrt(K)
  explicit DotProductScore(double scale) : scale_(scale) {}

  at::Tensor scores(const AttentionTile& tile) override;
  bool is_position_independent() const override { return true; }
  std::optional<kernels::AttentionSettings> fused(kernels::AttentionSettings settings,
                                                  const ForwardContext& context) const override;

 private:
  double scale_;
};

/// Adds ForwardContext::distance_bias, which all layers of a stack share (arXiv:1910.10683, section
/// 2.1).
class DistanceBias : public ScoreModifier {
 public:
  at::Tensor scores(const at::Tensor& scores, const AttentionTile& tile) override;
  std::optional<kernels::AttentionSettings> fused(kernels::AttentionSettings settings,
                                                  const ForwardContext& context) const override;
};

}  // namespace weft::nn
