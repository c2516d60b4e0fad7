#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::nn {

/// Collects the attention weights of chosen layers while a pass goes through them.
class AttentionTrace {
 public:
  /// For each sequence of the batch (H, L, L).
  using Weights = std::vector<at::Tensor>;

  explicit AttentionTrace(const std::vector<int64_t>& layers)
      : wanted_(layers.begin(), layers.end()) {}

  bool wants(int64_t layer) const { return wanted_.contains(layer); }
  void add(int64_t layer, Weights weights) { layers_[layer] = std::move(weights); }
  /// Of those wanted the ones that the model has.
  const std::map<int64_t, Weights>& layers() const { return layers_; }

 private:
  std::set<int64_t> wanted_;
  std::map<int64_t, Weights> layers_;
};

}  // namespace weft::nn
