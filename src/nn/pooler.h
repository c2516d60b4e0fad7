#pragma once

#include <cstdint>

#include <torch/nn/module.h>

#include "kernels/layout.h"
#include "nn/linear.h"

namespace weft::nn {

/// The first token of each sequence. (N, D) -> (B, D)
at::Tensor first_tokens(const at::Tensor& hidden, const kernels::Layout& layout);

/// tanh(W h + b) of the first token (arXiv:1810.04805).
class PoolerImpl : public torch::nn::Module {
 public:
  explicit PoolerImpl(int64_t dim);

  at::Tensor forward(const at::Tensor& first_tokens);  // (B, D) -> (B, D)

 private:
  Linear dense_{nullptr};
};
TORCH_MODULE(Pooler);

}  // namespace weft::nn
