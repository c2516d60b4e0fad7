#pragma once

#include <cstdint>

#include "nn/module.h"

namespace weft::nn {

struct RelativeBiasOptions {
  int64_t buckets = 0;     // 0: no such positions
  int64_t distance = 128;  // from which on all share the last bucket
  int64_t heads = 0;
  bool is_causal = false;  // keys after the query share the bucket of distance 0
};

/// A learned number for each head and bucket of distances (arXiv:1910.10683, section 2.1).
class RelativeBias : public Module {
 public:
  explicit RelativeBias(const RelativeBiasOptions& options);

  /// What kernels::AttentionSettings::distance_bias wants for sequences up to `longest`:
  /// (H, 2 longest - 1) fp32.
  at::Tensor forward(int64_t longest) const;

 private:
  RelativeBiasOptions options_;
  at::Tensor weight_;  // (buckets, H)
};

/// The bucket of key position - query position.
int64_t relative_bucket(int64_t offset, const RelativeBiasOptions& options);

}  // namespace weft::nn
