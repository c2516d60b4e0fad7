#include "kernels/sum.h"

#include <ATen/ATen.h>

#include "kernels/fused.h"

namespace weft::kernels {

namespace {

// LibTorch sums fewer elements than this in one thread, and a row sum never splits a row.
constexpr int64_t kInOneThread = 4096;

}  // namespace

at::Tensor deterministic_sum(const at::Tensor& x) {
  const int64_t rows = x.numel() / kInOneThread;
  if (rows < 2 || !x.device().is_cpu()) {
    return x.sum();
  }
  const auto flat = x.reshape({-1});
  const auto whole =
      deterministic_sum(flat.narrow(0, 0, rows * kInOneThread).view({rows, -1}).sum(1));
  const int64_t rest = x.numel() - rows * kInOneThread;
  return rest == 0 ? whole : whole + flat.narrow(0, rows * kInOneThread, rest).sum();
}

at::Tensor column_sum(const at::Tensor& x) {
  constexpr int64_t kBlock = 128;
  const int64_t rows = x.size(0);
  const int64_t columns = x.size(1);
  const auto options = x.options().dtype(at::kFloat);
  if (rows == 0) {
    return at::zeros({columns}, options);
  }
  const auto parts = at::empty({(rows + kBlock - 1) / kBlock, columns}, options);
  dispatch_element_type(x, [&](auto element) {
    using T = decltype(element);
    for_each_block(rows, kBlock, [&](int64_t block, int64_t begin, int64_t end) {
      operations<T>().column_sum(elements<T>(x) + begin * columns, end - begin, columns,
                                 elements<float>(parts) + block * columns);
    });
  });
  return parts.size(0) == 1 ? parts[0] : column_sum(parts);
}

}  // namespace weft::kernels
