#pragma once

#include <cstdint>

#include <torch/nn/module.h>

#include "kernels/rng_key.h"
#include "nn/linear.h"

namespace weft::nn {

struct MlpOptions {
  int64_t inputs = 0;
  int64_t width = 0;  // of both layers
};

/// Two linear layers with ReLU, each preceded by dropout.
class MlpImpl : public torch::nn::Module {
 public:
  explicit MlpImpl(const MlpOptions& options);

  /// (rows, inputs) -> (rows, width)
  at::Tensor forward(const at::Tensor& x,
                     double dropout,
                     const kernels::RngKey& outer,
                     const kernels::RngKey& inner);

 private:
  Linear first_{nullptr};
  Linear second_{nullptr};
};
TORCH_MODULE(Mlp);

}  // namespace weft::nn
