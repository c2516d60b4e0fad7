#include "kernels/deterministic_sum.h"

#include <ATen/ATen.h>

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

}  // namespace weft::kernels
