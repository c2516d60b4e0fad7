#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <torch/nn/module.h>

#include "nn/forward_context.h"
#include "nn/growing_table.h"

namespace weft::nn {

/// What a layer adds to its input so that layers that share their parameters know where they are:
/// the sinusoids of the position and of the layer, or a learned vector of the layer.
enum class StepEmbeddingType { kSinusoidal, kLearned };

/// Position and step embeddings of the Universal Transformer (arXiv:1807.03819, equations 6 and 7;
/// learned ones as in the authors' code).
class StepEmbeddingImpl : public torch::nn::Module {
 public:
  StepEmbeddingImpl(StepEmbeddingType type, int64_t layers, int64_t dim);

  /// The input of a layer: (N, D) -> (N, D).
  at::Tensor forward(const at::Tensor& x, std::size_t layer, const ForwardContext& context);

 private:
  StepEmbeddingType type_;
  int64_t layers_;
  at::Tensor table_;        // (layers, D), of the learned type
  GrowingTable sinusoids_;  // (P, D)
};
TORCH_MODULE(StepEmbedding);

}  // namespace weft::nn
