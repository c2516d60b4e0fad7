#pragma once

#include <map>
#include <string>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

namespace weft::test {

/// Whether all elements agree within `tolerance` and the shapes are the same.
inline bool near(const at::Tensor& found, const at::Tensor& expected, double tolerance = 1e-5) {
  return found.sizes() == expected.sizes() &&
         at::allclose(found.to(at::kDouble), expected.to(at::kDouble), 0, tolerance);
}

/// Sets parameters by their registered names; each must exist and have that shape.
inline void set_parameters(torch::nn::Module& module,
                           const std::map<std::string, at::Tensor>& values) {
  const at::NoGradGuard guard;
  const auto parameters = module.named_parameters();
  for (const auto& [name, value] : values) {
    const auto* parameter = parameters.find(name);
    TORCH_CHECK(parameter != nullptr && parameter->sizes() == value.sizes(),
                "no such parameter: ", name);
    parameter->detach().copy_(value);
  }
}

/// Fills all parameters with small values that look random and are always the same.
inline void fill_parameters(torch::nn::Module& module, double size = 0.3) {
  const at::NoGradGuard guard;
  double phase = 1;
  for (auto& parameter : module.named_parameters().values()) {
    const auto count = parameter.numel();
    parameter.copy_(
        (at::arange(count, at::kDouble) * 12.9898 + phase).sin().mul(size).view_as(parameter));
    phase += 1.7;
  }
}

inline void clear_gradients(torch::nn::Module& module) {
  for (auto& parameter : module.named_parameters().values()) {
    parameter.mutable_grad().reset();
  }
}

}  // namespace weft::test
