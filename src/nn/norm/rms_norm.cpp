#include <ATen/Functions.h>

#include "kernels/norm.h"
#include "nn/norm/norm.h"

namespace weft::nn {

namespace {

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

std::shared_ptr<Norm> make_rms_norm(const NormOptions& options) {
  return std::make_shared<RmsNorm>(options);
}

}  // namespace weft::nn
