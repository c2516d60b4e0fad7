#pragma once

#include <ATen/core/Tensor.h>

/// Products of matrices, the work of the linear layers. On the CPU they are ours where LibTorch's
/// block kernel serves (fp32 with AVX2, bf16 on a processor that multiplies it): in blocks sized to
/// the caches, whose kernels do not depend on the number of rows, which is another one in every
/// step. The bits of a row depend neither on how many there are nor on the number of threads.
/// Everything else is LibTorch's. No autograd.
namespace weft::kernels {

/// a b + bias. a (N, K), b (K, F), bias (F) or undefined -> (N, F). Either side may be a transposed
/// view.
at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias = {});

/// The weight of a linear layer, (F, K), as products of few rows read it fastest: the same values,
/// with those of an input together. In other formats than fp32, and elsewhere than on the CPU, the
/// weight itself.
at::Tensor laid_out_for_few_rows(const at::Tensor& weight);

/// sum += scale * a b, rounded once. sum (N, F) may be columns of a wider matrix.
void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b, double scale = 1);

}  // namespace weft::kernels
