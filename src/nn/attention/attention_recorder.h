#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::nn {

/// Records the attention weights of selected layers during a forward pass: those of self-attention
/// and, of a decoder, those of the attention to its encoder. Layers of pooled tokens are left out.
class AttentionRecorder {
 public:
  /// (H, L, L) for each sequence of the batch; to an encoder (H, L, S).
  using Weights = std::vector<at::Tensor>;

  explicit AttentionRecorder(const std::vector<int64_t>& layers)
      : requested_(layers.begin(), layers.end()) {}

  bool records(int64_t layer) const { return requested_.contains(layer); }
  void add(int64_t layer, Weights weights) { layers_[layer] = std::move(weights); }
  void add_cross(int64_t layer, Weights weights) { cross_layers_[layer] = std::move(weights); }
  /// The requested layers that the model has.
  const std::map<int64_t, Weights>& layers() const { return layers_; }
  const std::map<int64_t, Weights>& cross_layers() const { return cross_layers_; }

 private:
  std::set<int64_t> requested_;
  std::map<int64_t, Weights> layers_;
  std::map<int64_t, Weights> cross_layers_;
};

}  // namespace weft::nn
