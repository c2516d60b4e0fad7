#include "nn/norm.h"

#include <ATen/Functions.h>

#include "kernels/norm.h"

namespace weft::nn {

namespace {

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

RmsNorm::RmsNorm(const NormOptions& options) : epsilon_(options.epsilon) {
  weight_ = register_parameter("weight", at::empty({options.dim}));
}

at::Tensor RmsNorm::forward(const at::Tensor& x) { return kernels::rms_norm(x, weight_, epsilon_); }

at::Tensor RmsNorm::add_norm(const Residual& residual) {
  return kernels::add_dropout_norm(
      residual.stream, residual.branch,
      {.weight = weight_, .bias = {}, .epsilon = epsilon_, .is_rms = true}, residual.dropout,
      residual.rng_key);
}

}  // namespace

std::shared_ptr<Norm> make_norm(const NormOptions& options) {
  switch (options.type) {
    case NormType::kLayer:
      return std::make_shared<LayerNorm>(options);
    case NormType::kRms:
      return std::make_shared<RmsNorm>(options);
  }
  TORCH_CHECK(false, "unknown norm type");
}

const config::Choices<NormType>& norm_types() {
  static const config::Choices<NormType> kTypes = {{"layer", NormType::kLayer},
                                                   {"rms", NormType::kRms}};
  return kTypes;
}

}  // namespace weft::nn
