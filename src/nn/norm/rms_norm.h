#pragma once

#include "nn/norm/norm.h"

namespace weft::nn {

/// RMSNorm (arXiv:1910.07467): scale alone, no mean is taken away.
class RmsNorm : public Norm {
 public:
  explicit RmsNorm(const NormOptions& options);

  at::Tensor forward(const at::Tensor& x) override;
  at::Tensor after(const Residual& residual) override;

 private:
  double epsilon_;
  at::Tensor weight_;  // (D)
};

}  // namespace weft::nn
