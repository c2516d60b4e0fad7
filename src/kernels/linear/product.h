#pragma once

#include <ATen/core/Tensor.h>

/// Matrix products for the linear layers. On the CPU, uses our own implementation where LibTorch's
/// block kernel works (fp32 with AVX2, bf16 with bf16 multiplication): blocks sized to the caches,
/// and kernels that do not depend on the number of rows, which changes every step. The bits of a
/// row depend neither on the number of rows nor on the number of threads. Otherwise uses LibTorch.
/// No autograd.
namespace weft::kernels {

/// a b + bias. a (N, K), b (K, F), bias (F) or undefined -> (N, F). Either operand may be a
/// transposed view.
at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias = {});

/// Right operand (K, F) of many products, packed in the order in which they read it: for fp32 and
/// bf16 on a CPU that uses our products, else unchanged.
struct PackedMatrix {
  at::Tensor panels;  // or undefined
  at::Tensor whole;   // if there are no panels
  int64_t depth = 0;
  int64_t columns = 0;
};

/// Copies b, or shares its storage if packing is not supported.
PackedMatrix packed(const at::Tensor& b);

/// a b + bias as above, bit-identical. a has the dtype of b.
at::Tensor product(const at::Tensor& a, const PackedMatrix& b, const at::Tensor& bias = {});

/// sum += scale * a b, rounded once. sum (N, F) may be columns of a wider matrix.
void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b, double scale = 1);

}  // namespace weft::kernels
