#include "nn/linear.h"

#include <ATen/Functions.h>

#include "kernels/activation.h"
#include "kernels/linear/linear.h"

namespace weft::nn {

Linear::Linear(const LinearOptions& options) {
  weight_ = register_parameter("weight", at::empty({options.outputs, options.inputs}));
  if (options.has_bias) {
    bias_ = register_parameter("bias", at::empty({options.outputs}));
  }
}

at::Tensor Linear::product(const at::Tensor& x) const {
  if (packed_) {
    return kernels::product(x, *packed_, bias_);
  }
  return quantized_ ? kernels::quantized_linear(x, *quantized_)
                    : kernels::linear(x, weight_, bias_);
}

at::Tensor Linear::forward(const at::Tensor& x) {
  TORCH_CHECK(adapters_.empty(), "a linear layer with adapters needs the pass");
  return product(x);
}

at::Tensor Linear::adapted(const at::Tensor& x, const Pass& pass) {
  if (adapters_.empty()) {
    return product(x);
  }
  std::vector<kernels::LowRank> added;
  for (const auto& adapter : adapters_) {
    added.push_back({.a = adapter.a,
                     .b = adapter.b,
                     .first = adapter.options.first_row,
                     .scale = adapter.options.scale,
                     .dropout = pass.rate(adapter.options.dropout),
                     .chance = pass.chance(adapter.options.site)});
  }
  return kernels::linear(x, weight_, bias_, added);
}

at::Tensor Linear::part(const at::Tensor& x, int64_t first, int64_t count) {
  check_is_plain();
  return kernels::linear_part(x, weight_, bias_, first, count);
}

at::Tensor Linear::of_activated(const at::Tensor& x,
                                kernels::Activation activation,
                                bool is_gated) {
  check_is_plain();
  return kernels::linear_of_activated(x, activation, is_gated, weight_, bias_);
}

void Linear::check_is_plain() const {
  TORCH_CHECK(is_plain(),
              "a linear layer with adapters, packed or in int8 multiplies all or nothing");
}

void Linear::give_up_weight() {
  weight_.set_data(at::empty({0}, weight_.options().requires_grad(false)));
}

void Linear::pack() {
  if (is_plain()) {
    packed_ = kernels::packed(weight_.t());
    give_up_weight();
  }
}

void Linear::quantize() {
  TORCH_CHECK(adapters_.empty(), "a linear layer with adapters is not quantised");
  if (!quantized_) {
    quantized_ = kernels::quantized(weight_, bias_);
    give_up_weight();
  }
}

void Linear::add_adapter(const AdapterOptions& options) {
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
