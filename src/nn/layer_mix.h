#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "nn/forward_context.h"
#include "nn/initial_values.h"

namespace weft::nn {

struct LayerMixOptions {
  int64_t outputs = 1;          // K, mixes of the same layers
  double weight_dropout = 0.1;  // of the logits of the weights

  bool operator==(const LayerMixOptions&) const = default;
};

/// Weighted sums of layers (N, D), computed in fp32: output k is sum_e weights[e, k] layers[e].
/// weights (E, K) -> (N, K D), the outputs next to each other.
at::Tensor mix_layers(const std::vector<at::Tensor>& layers, const at::Tensor& weights);

/// A mix of the states of all layers, the embeddings included, with weights that are the softmax of
/// a learned logit for each layer: transparent attention where a decoder's layers read such mixes
/// of the encoder (arXiv:1808.07561, section 3), else the scalar mix of arXiv:1802.05365.
class LayerMixImpl : public torch::nn::Module, public InitialValues {
 public:
  /// `layers`: E
  LayerMixImpl(int64_t layers, const LayerMixOptions& options);

  /// E states (N, D) -> (N, K D)
  at::Tensor forward(const std::vector<at::Tensor>& states, const ForwardContext& context) const;
  /// Zero: the mean of the layers.
  void initialize(const std::string& name, at::Tensor parameter) const override;

 private:
  double weight_dropout_;
  at::Tensor weight_;  // logits (E, K)
};
TORCH_MODULE(LayerMix);

}  // namespace weft::nn
