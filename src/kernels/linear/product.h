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

/// The right side (K, F) of many products, in the order in which they read it: fp32 and bf16 on a
/// CPU where the products are ours, else as it was given.
struct PackedMatrix {
  at::Tensor panels;  // or undefined
  at::Tensor whole;   // where there are no panels
  int64_t depth = 0;
  int64_t columns = 0;
};

/// Its values are copied, or, where packing does not serve, shared.
PackedMatrix packed(const at::Tensor& b);

/// a b + bias as above, with the same bits. a has the type of b.
at::Tensor product(const at::Tensor& a, const PackedMatrix& b, const at::Tensor& bias = {});

/// sum += scale * a b, rounded once. sum (N, F) may be columns of a wider matrix.
void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b, double scale = 1);

}  // namespace weft::kernels
