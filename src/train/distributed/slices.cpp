#include "train/distributed/slices.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace weft::train {

void check_slice(const at::Tensor& slice) {
  TORCH_CHECK(slice.dim() == 1 && slice.is_contiguous(),
              "ProcessGroup expects a contiguous slice (N), got sizes ", slice.sizes(),
              ", strides ", slice.strides());
}

void check_parts(const at::Tensor& slice, int64_t part, int ranks) {
  check_slice(slice);
  TORCH_CHECK(part * ranks >= slice.numel(), "ProcessGroup: ", ranks, " parts of ", part,
              " elements do not cover ", slice.numel());
}

at::Tensor ordered_sum(const at::Tensor& rows) {
  const bool is_short = rows.scalar_type() == at::kBFloat16 || rows.scalar_type() == at::kHalf;
  auto total = is_short ? rows.select(0, 0).to(at::kFloat) : rows.select(0, 0);
  for (int64_t row = 1; row < rows.size(0); ++row) {
    total.add_(rows.select(0, row));
  }
  return total;
}

int64_t count_of(const at::Tensor& slice, int64_t part, int rank) {
  return std::clamp<int64_t>(slice.numel() - rank * part, 0, part);
}

}  // namespace weft::train
