#pragma once

#include "nn/norm/norm.h"

namespace weft::nn {

/// LayerNorm with scale and, unless it has no bias, shift (arXiv:1607.06450).
class LayerNorm : public Norm {
 public:
  explicit LayerNorm(const NormOptions& options);

  at::Tensor forward(const at::Tensor& x) override;
  at::Tensor add_norm(const Residual& residual) override;

 private:
  double epsilon_;
  at::Tensor weight_;  // (D)
  at::Tensor bias_;    // (D), or undefined
};

}  // namespace weft::nn
