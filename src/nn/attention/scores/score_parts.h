#pragma once

#include <string>

#include "nn/attention/attention_parts.h"

namespace weft::nn {

/// Position of the key minus that of the query, (L, S) int64.
at::Tensor key_distances(const AttentionTile& tile);

/// A tensor of ForwardContext::position_tensors. Throws c10::Error outside of a stack that has it.
const at::Tensor& shared_positions(const AttentionTile& tile, const std::string& name);

/// x W^T over the last dimension: x (G, H, L, K), weight (F, K) -> (G, H, L, F).
at::Tensor project_features(const at::Tensor& x, const at::Tensor& weight);

/// A vector of each head (H, K) for each row of x (G, H, L, K), in the shape and dtype of x.
at::Tensor repeat_for_rows(const at::Tensor& vectors, const at::Tensor& x);

/// The dot product of query and key times `scale` (arXiv:1706.03762, equation 1).
class DotProductScore : public ScoreFunction {
 public:
  /// scale 0: 1 / sqrt(K)
  explicit DotProductScore(double scale) : scale_(scale) {}

  at::Tensor scores(const AttentionTile& tile) override;
  bool is_position_independent() const override { return true; }
  std::optional<kernels::AttentionSettings> fused(kernels::AttentionSettings settings,
                                                  const ForwardContext& context,
                                                  int64_t longest) const override;

 private:
  double scale_;
};

/// Adds ForwardContext::distance_bias, which all layers of a stack share (arXiv:1910.10683, section
/// 2.1).
class DistanceBias : public ScoreModifier {
 public:
  at::Tensor scores(const at::Tensor& scores, const AttentionTile& tile) override;
  std::optional<kernels::AttentionSettings> fused(kernels::AttentionSettings settings,
                                                  const ForwardContext& context,
                                                  int64_t longest) const override;
};

}  // namespace weft::nn
