#pragma once

#include <cstdint>
#include <memory>

#include "kernels/activation.h"
#include "nn/module.h"
#include "nn/pass.h"

namespace weft::nn {

struct FeedForwardOptions {
  int64_t dim = 0;    // D
  int64_t width = 0;  // F
  int64_t layer = 0;  // which block this is part of; numbers its chance
  kernels::Activation activation = kernels::Activation::kGelu;
  bool is_gated = false;  // a second projection multiplies the activated one (arXiv:2002.05202)
  bool has_bias = true;
  double dropout = 0;  // on the F-wide activations (BERT has none)
};

/// Changes each token by itself. Norm, residual and the dropout of the output belong to the block.
class FeedForward : public Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x, const Pass& pass) = 0;  // (N, D) -> (N, D)
};

std::shared_ptr<FeedForward> make_feed_forward(const FeedForwardOptions& options);

}  // namespace weft::nn
