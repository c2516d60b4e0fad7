#pragma once

#include <cstdint>
#include <memory>

#include <torch/nn/module.h>

#include "kernels/activation.h"
#include "nn/forward_context.h"

namespace weft::nn {

struct FeedForwardOptions {
  int64_t dim = 0;    // D
  int64_t width = 0;  // F
  int64_t layer = 0;  // index of the block; part of the dropout site
  kernels::Activation activation = kernels::Activation::kGelu;
  bool is_gated = false;  // a second projection multiplies the activated one (arXiv:2002.05202)
  bool has_bias = true;
  double dropout = 0;  // on the F-wide activations (BERT has none)
};

/// Position-wise feed-forward. Norm, residual and output dropout belong to the block.
class FeedForward : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x,
                             const ForwardContext& context) = 0;  // (N, D) -> (N, D)
};

std::shared_ptr<FeedForward> make_feed_forward(const FeedForwardOptions& options);

}  // namespace weft::nn
