#pragma once

#include "kernels/attention/attention.h"
#include "nn/attention/attention.h"
#include "nn/linear.h"

namespace weft::nn {

/// Projects ForwardContext::distance_table for one layer.
class DistanceProjectionImpl : public torch::nn::Module {
 public:
  /// `options.distance_scores` must be set.
  explicit DistanceProjectionImpl(const AttentionOptions& options);

  /// `qkv`: the projection of the layer's tokens. Throws c10::Error without a table.
  kernels::DistanceVectors forward(Linear& qkv, const ForwardContext& context);

 private:
  /// `count` heads of a shared projection from the feature `first` on, repeated to H heads.
  at::Tensor shared(Linear& qkv, const at::Tensor& vectors, int64_t first, int64_t count) const;

  AttentionOptions options_;
  Linear key_{nullptr};    // (H K, D), of scores of a query and a distance
  Linear query_{nullptr};  // (H K, D), of scores of a key and a distance
};
TORCH_MODULE(DistanceProjection);

}  // namespace weft::nn
