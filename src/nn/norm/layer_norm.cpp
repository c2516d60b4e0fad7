#include "nn/norm/layer_norm.h"

#include <ATen/Functions.h>

#include "kernels/norm.h"

namespace weft::nn {

LayerNorm::LayerNorm(const NormOptions& options) : epsilon_(options.epsilon) {
  weight_ = register_parameter("weight", at::empty({options.dim}));
  if (options.has_bias) {
    bias_ = register_parameter("bias", at::empty({options.dim}));
  }
}

at::Tensor LayerNorm::forward(const at::Tensor& x) {
  return kernels::layer_norm(x, weight_, bias_, epsilon_);
}

at::Tensor LayerNorm::add_norm(const Residual& residual) {
  return kernels::add_dropout_norm(residual.stream, residual.branch,
                                   {.weight = weight_, .bias = bias_, .epsilon = epsilon_},
                                   residual.dropout, residual.rng_key);
}

}  // namespace weft::nn
