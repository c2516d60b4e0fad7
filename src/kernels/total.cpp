#include "kernels/total.h"

#include <ATen/ATen.h>

namespace weft::kernels {

namespace {

// Below so many LibTorch sums in one thread; rows of them are cut at no row's midst.
constexpr int64_t kInOneThread = 4096;

}  // namespace

at::Tensor total(const at::Tensor& x) {
  const int64_t rows = x.numel() / kInOneThread;
  if (rows < 2 || !x.device().is_cpu()) {
    return x.sum();
  }
  const auto flat = x.reshape({-1});
  const auto whole = total(flat.narrow(0, 0, rows * kInOneThread).view({rows, -1}).sum(1));
  const int64_t rest = x.numel() - rows * kInOneThread;
  return rest == 0 ? whole : whole + flat.narrow(0, rows * kInOneThread, rest).sum();
}

}  // namespace weft::kernels
