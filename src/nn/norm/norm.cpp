#include "nn/norm/norm.h"

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

Registry<NormDefinition>& norm_registry() {
  static Registry<NormDefinition> registry(
      "norm type", {
                       {"layer", [](config::Section&) { return NormMaker(make_layer_norm); }},
                       {"rms", [](config::Section&) { return NormMaker(make_rms_norm); }},
                   });
  return registry;
}

}  // namespace

std::shared_ptr<Norm> make_layer_norm(const NormOptions& options) {
  return std::make_shared<LayerNorm>(options);
}

const Registry<NormDefinition>& norm_types() { return norm_registry(); }

void register_norm(const NormDefinition& definition) { norm_registry().add(definition); }

}  // namespace weft::nn
