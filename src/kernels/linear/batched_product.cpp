#include "kernels/linear/batched_product.h"

#include <ATen/ATen.h>

#include "kernels/flop_counter.h"

namespace weft::kernels {

at::Tensor batched_product(const at::Tensor& a, const at::Tensor& b) {
  auto out = at::bmm(a, b);
  const int64_t flops = 2 * out.numel() * a.size(2);
  const int64_t gradients = (a.requires_grad() ? 1 : 0) + (b.requires_grad() ? 1 : 0);
  count_with_backward(out, flops, gradients * flops);
  return out;
}

}  // namespace weft::kernels
