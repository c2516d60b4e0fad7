#pragma once

#include "nn/norm/norm.h"

namespace weft::nn {

/// RMSNorm (arXiv:1910.07467): scale only, the mean is not subtracted.
class RmsNorm : public Norm {
 public:
  explicit RmsNorm(const NormOptions& options);

  at::Tensor forward(const at::Tensor& x) override;
  at::Tensor add_norm(const Residual& residual) override;

 private:
  double epsilon_;
  at::Tensor weight_;  // (D)
};

}  // namespace weft::nn
