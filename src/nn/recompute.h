#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

namespace weft::nn {

/// Activation checkpointing (arXiv:1604.06174): keeps only the inputs and runs work(inputs) again
/// in the backward pass; the gradients are bitwise the same as without it. `work` must be a pure
/// function of the inputs and the module's parameters; dropout qualifies (kernels::RngKey).
using RecomputedFunction =
    std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)>;
std::vector<at::Tensor> recompute(const std::vector<at::Tensor>& inputs,
                                  const torch::nn::Module& module,
                                  const RecomputedFunction& work);

/// Overload for one tensor.
at::Tensor recompute(const at::Tensor& x,
                     const torch::nn::Module& module,
                     const std::function<at::Tensor(const at::Tensor&)>& work);

}  // namespace weft::nn
