#pragma once

#include <cstdint>
#include <map>
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

/// Keys and values that a decoder has computed for some sequences, per layer.
class KvCache : public DecodingState {
 public:
  explicit KvCache(int64_t sequences);

  int64_t sequences() const { return static_cast<int64_t>(lengths_.size()); }
  /// Tokens of each sequence so far, including those of the current pass.
  const std::vector<int64_t>& lengths() const { return lengths_; }

  kernels::Layout begin_step(const std::vector<int64_t>& counts, const at::Device& device) override;
  void reorder(const std::vector<int64_t>& rows) override;

  /// For attention: stores one layer's rows of the pass, (N, G K) each; returns all rows so far.
  CachedKv extend(int64_t layer, const at::Tensor& key, const at::Tensor& value);

  /// For cross attention: keys and values of the encoder states, kept from the first pass on.
  bool has_encoder_kv(int64_t layer) const;
  void store_encoder_kv(int64_t layer, const at::Tensor& key, const at::Tensor& value);
  /// Encoder keys and values; `starts` is where each sequence's source begins.
  CachedKv encoder_kv(int64_t layer, const kernels::Layout& encoder_layout) const;

 private:
  struct Layer {
    at::Tensor self_kv;     // (B, capacity, 2 G K): key and value side by side
    at::Tensor encoder_kv;  // (M, 2 G K)
  };

  void grow(Layer& layer, const at::Tensor& key) const;

  std::vector<int64_t> lengths_;
  std::vector<int64_t> previous_lengths_;  // lengths before the current pass
  std::vector<int64_t> source_indices_;    // encoder sequence of each sequence
  kernels::Layout layout_;                 // of the current pass
  kernels::Layout full_layout_;            // of all rows
  std::map<int64_t, Layer> layers_;
};

/// The decoding state of a model with attention. Throws c10::Error if it is of another kind.
KvCache& kv_cache_of(const ForwardContext& context);

}  // namespace weft::nn
