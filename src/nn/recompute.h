#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "nn/module.h"

namespace weft::nn {

/// work(x) of which only x is kept: the backward pass does the work once more (arXiv:1604.06174),
/// and its gradients have the bits that they would have otherwise. `work` must be a pure function
/// of x and the part's parameters: chance is one (kernels::Chance).
at::Tensor recomputed(const at::Tensor& x,
                      const Module& part,
                      const std::function<at::Tensor(const at::Tensor&)>& work);

}  // namespace weft::nn
