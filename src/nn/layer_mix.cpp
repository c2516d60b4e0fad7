#include "nn/layer_mix.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/dropout.h"
#include "kernels/sum.h"
#include "nn/dropout_sites.h"

namespace weft::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Keeps the layers alone for the backward pass, not their products with the weights.
class MixedLayers : public torch::autograd::Function<MixedLayers> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            at::TensorList layers,
                            const at::Tensor& weights) {
    variable_list saved = layers.vec();
    saved.push_back(weights);
    context->save_for_backward(std::move(saved));
    const auto& first = layers[0];
    const auto dim = first.size(1);
    const auto factors = host(weights);
    const auto result = at::empty({first.size(0), weights.size(1) * dim}, first.options());
    for (int64_t k = 0; k < weights.size(1); ++k) {
      auto sum = at::zeros_like(first, first.options().dtype(kernels::accumulate_type(first)));
      for (std::size_t e = 0; e < layers.size(); ++e) {
        sum.add_(layers[e], factor(factors, e, k));
      }
      result.narrow(1, k * dim, dim).copy_(sum);
    }
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto& weights = saved.back();
    const auto factors = host(weights);
    const auto type = kernels::accumulate_type(saved.front());
    const auto parts = gradients[0].to(type).chunk(weights.size(1), 1);  // (N, D) each
    variable_list result;
    std::vector<at::Tensor> products;  // (1) each, of the weights
    for (std::size_t e = 0; e + 1 < saved.size(); ++e) {
      const auto layer = saved[e].to(type);
      auto sum = at::zeros_like(layer);
      for (std::size_t k = 0; k < parts.size(); ++k) {
        sum.add_(parts[k], factor(factors, e, static_cast<int64_t>(k)));
        products.push_back(kernels::deterministic_sum(parts[k] * layer).view({1}));
      }
      result.push_back(sum.to(saved[e].scalar_type()));
    }
    result.push_back(at::cat(products).view(weights.sizes()).to(weights.scalar_type()));
    return result;
  }

 private:
  static at::Tensor host(const at::Tensor& weights) { return weights.to(at::kCPU, at::kDouble); }
  static double factor(const at::Tensor& factors, std::size_t layer, int64_t output) {
    return factors.const_data_ptr<double>()[static_cast<int64_t>(layer) * factors.size(1) + output];
  }
};

}  // namespace

at::Tensor mix_layers(const std::vector<at::Tensor>& layers, const at::Tensor& weights) {
  TORCH_CHECK(weights.dim() == 2 && weights.size(0) == std::ssize(layers),
              "mix_layers: ", layers.size(), " layers, but weights ", weights.sizes());
  return MixedLayers::apply(at::TensorList(layers), weights.contiguous());
}

LayerMixImpl::LayerMixImpl(int64_t layers, const LayerMixOptions& options)
    : weight_dropout_(options.weight_dropout) {
  weight_ = register_parameter("weight", at::empty({layers, options.outputs}));
}

at::Tensor LayerMixImpl::forward(const std::vector<at::Tensor>& states,
                                 const ForwardContext& context) const {
  auto key = context.rng_key(site_id(DropoutSite::kLayerMix));
  key.first_row = 0;  // micro-batches have the same mask
  const auto logits = kernels::dropout(weight_, context.rate(weight_dropout_), key);
  return mix_layers(states, logits.softmax(0, kernels::accumulate_type(logits)));
}

void LayerMixImpl::initialize(const std::string& /*name*/, at::Tensor parameter) const {
  parameter.zero_();
}

}  // namespace weft::nn
