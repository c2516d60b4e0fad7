#pragma once

#include <ATen/core/Tensor.h>

/// Products of matrices, the work of the linear layers. For bf16 on a processor that multiplies it
/// they are ours: blocks sized to the caches whose kernels do not depend on the number of rows,
/// which is another one in every step, the bits of a row no more than they; everything else is
/// LibTorch's. No autograd.
namespace weft::kernels {

/// a b + bias. a (N, K), b (K, F), bias (F) or undefined -> (N, F). Either side may be a transposed
/// view.
at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias = {});

/// sum += scale * a b, rounded once. sum (N, F) may be columns of a wider matrix.
void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b, double scale = 1);

}  // namespace weft::kernels
