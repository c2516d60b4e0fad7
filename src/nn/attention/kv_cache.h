#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"
#include "nn/decoding_state.h"
#include "nn/forward_context.h"

namespace weft::nn {

/// Keys and values of some rows. `starts`: the first row of each sequence.
struct CachedKv {
  at::Tensor key;               // (rows, G K)
  at::Tensor value;             // (rows, G K)
  std::vector<int64_t> starts;  // B
  kernels::Layout layout;       // rows of each sequence; only offsets and lengths are set
};

/// The keys and values in a decoding state, by layer.
class KvCache {
 public:
  explicit KvCache(DecodingState& state) : state_(state) {}

  /// For attention: stores one layer's rows of the pass, (N, G K) each; returns all rows so far.
  CachedKv extend(int64_t layer, const at::Tensor& key, const at::Tensor& value);

  /// For cross attention: keys and values of the encoder states, kept from the first pass on.
  bool has_encoder_kv(int64_t layer) const;
  void store_encoder_kv(int64_t layer, const at::Tensor& key, const at::Tensor& value);
  /// Encoder keys and values; `starts` is where each sequence's source begins.
  CachedKv encoder_kv(int64_t layer, const kernels::Layout& encoder_layout) const;

 private:
  DecodingState& state_;
};

/// The cache of a pass with a decoding state.
KvCache kv_cache_of(const ForwardContext& context);

}  // namespace weft::nn
