#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/module.h"

namespace weft::nn {

/// work(inputs) of which only the inputs are kept: the backward pass does the work once more
/// (arXiv:1604.06174), and its gradients have the bits that they would have otherwise. `work` must
/// be a pure function of the inputs and the part's parameters: chance is one (kernels::Chance).
using RecomputedWork = std::function<at::Tensor(const std::vector<at::Tensor>& inputs)>;
at::Tensor recomputed(const std::vector<at::Tensor>& inputs,
                      const Module& part,
                      const RecomputedWork& work);

/// The same of one tensor.
at::Tensor recomputed(const at::Tensor& x,
                      const Module& part,
                      const std::function<at::Tensor(const at::Tensor&)>& work);

}  // namespace weft::nn
