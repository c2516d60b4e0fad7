#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::nn {

/// Records the attention weights of selected layers during a forward pass.
class AttentionRecorder {
 public:
  /// (H, L, L) for each sequence of the batch.
  using Weights = std::vector<at::Tensor>;

  explicit AttentionRecorder(const std::vector<int64_t>& layers)
      : requested_(layers.begin(), layers.end()) {}

  bool records(int64_t layer) const { return requested_.contains(layer); }
  void add(int64_t layer, Weights weights) { layers_[layer] = std::move(weights); }
  /// The requested layers that the model has.
  const std::map<int64_t, Weights>& layers() const { return layers_; }

 private:
  std::set<int64_t> requested_;
  std::map<int64_t, Weights> layers_;
};

}  // namespace weft::nn
