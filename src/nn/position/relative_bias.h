#pragma once

#include <cstdint>

#include <torch/nn/module.h>

namespace weft::nn {

struct RelativeBiasOptions {
  int64_t buckets = 0;         // 0: no relative positions
  int64_t max_distance = 128;  // larger distances share the last bucket
  int64_t heads = 0;
  bool is_causal = false;  // keys after the query share the bucket of distance 0
};

/// A learned bias for each head and distance bucket (arXiv:1910.10683, section 2.1).
class RelativeBiasImpl : public torch::nn::Module {
 public:
  explicit RelativeBiasImpl(const RelativeBiasOptions& options);

  /// Returns kernels::AttentionSettings::distance_bias for sequences up to `longest`:
  /// (H, 2 longest - 1) fp32.
  at::Tensor forward(int64_t longest) const;

 private:
  RelativeBiasOptions options_;
  at::Tensor weight_;  // (buckets, H)
};
TORCH_MODULE(RelativeBias);

/// Returns the bucket of `offset` = key position - query position.
int64_t relative_position_bucket(int64_t offset, const RelativeBiasOptions& options);

}  // namespace weft::nn
