#include "nn/linear.h"

#include <ATen/Functions.h>

#include "kernels/activation.h"
#include "kernels/dropout.h"
#include "kernels/linear/linear.h"

namespace weft::nn {

LinearImpl::LinearImpl(const LinearOptions& options) : unbiased_(options.unbiased) {
  weight_ = register_parameter("weight", at::empty({options.outputs, options.inputs}));
  if (options.has_bias) {
    bias_ = register_parameter("bias", at::empty({options.outputs - unbiased_.count}));
  }
}

at::Tensor LinearImpl::bias() const {
  if (unbiased_.count == 0 || !bias_.defined()) {
    return bias_;
  }
  const auto first = unbiased_.first;
  return at::cat({bias_.narrow(0, 0, first), at::zeros({unbiased_.count}, bias_.options()),
                  bias_.narrow(0, first, bias_.size(0) - first)});
}

at::Tensor LinearImpl::product(const at::Tensor& x) const {
  if (packed_) {
    return kernels::product(x, *packed_, bias());
  }
  return quantized_ ? kernels::quantized_linear(x, *quantized_)
                    : kernels::linear(x, weight_, bias());
}

at::Tensor LinearImpl::forward(const at::Tensor& x) {
  TORCH_CHECK(adapters_.empty(), "a linear layer with adapters needs the pass");
  return product(x);
}

at::Tensor LinearImpl::forward(const at::Tensor& x, const ForwardContext& context) {
  if (adapters_.empty()) {
    return context.rate(weight_dropout_) > 0 ? kernels::linear(x, weight(context), bias())
                                             : product(x);
  }
  std::vector<kernels::LoraUpdate> added;
  for (const auto& adapter : adapters_) {
    added.push_back({.a = adapter.a,
                     .b = adapter.b,
                     .first = adapter.options.first_row,
                     .scale = adapter.options.scale,
                     .dropout = context.rate(adapter.options.dropout),
                     .rng_key = context.rng_key(adapter.options.site)});
  }
  return kernels::linear(x, weight(context), bias(), added);
}

at::Tensor LinearImpl::weight(const ForwardContext& context) const {
  auto key = context.rng_key(weight_dropout_site_);
  key.first_row = 0;  // micro-batches have the same mask
  return kernels::dropout(weight_, context.rate(weight_dropout_), key);
}

void LinearImpl::set_weight_dropout(double rate, uint32_t site) {
  weight_dropout_ = rate;
  weight_dropout_site_ = site;
}

at::Tensor LinearImpl::forward_slice(const at::Tensor& x, int64_t first, int64_t count) {
  TORCH_CHECK(has_fused_path(),
              "a linear layer that is packed, int8 or has adapters computes all columns or none");
  return kernels::linear_slice(x, weight_, bias(), first, count);
}

at::Tensor LinearImpl::forward_activated(const at::Tensor& x,
                                         kernels::Activation activation,
                                         bool is_gated,
                                         const ForwardContext& context) {
  if (has_fused_path()) {
    return kernels::activation_linear(x, activation, is_gated, weight_, bias());
  }
  if (quantized_ && !is_gated) {
    return kernels::quantized_linear(x, *quantized_, activation);
  }
  return forward(kernels::activate(x, activation, is_gated), context);
}

void LinearImpl::release_weight() {
  weight_.set_data(at::empty({0}, weight_.options().requires_grad(false)));
}

void LinearImpl::pack() {
  if (has_fused_path()) {
    packed_ = kernels::packed(weight_.t());
    release_weight();
  }
}

void LinearImpl::quantize() {
  TORCH_CHECK(adapters_.empty(), "a linear layer with adapters is not quantised");
  if (!quantized_) {
    quantized_ = kernels::quantized(weight_, bias());
    release_weight();
  }
}

void LinearImpl::add_adapter(const AdapterOptions& options) {
  TORCH_CHECK(options.rank > 0 && options.rows > 0 && options.first_row >= 0 &&
                  options.first_row + options.rows <= weight_.size(0),
              "no adapter of rank ", options.rank, " for rows ", options.first_row, " to ",
              options.first_row + options.rows, " of ", weight_.size(0));
  const auto place = weight_.options().requires_grad(false);
  auto a = register_parameter("lora_a_" + options.name,
                              at::empty({options.rank, weight_.size(1)}, place));
  auto b =
      register_parameter("lora_b_" + options.name, at::empty({options.rows, options.rank}, place));
  adapters_.push_back({options, a, b});
}

}  // namespace weft::nn
