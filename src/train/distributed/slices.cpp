#include "train/distributed/slices.h"

#include <algorithm>
#include <bit>

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
  const auto count = static_cast<uint64_t>(rows.size(0));
  if (count == 1) {
    return rows[0];
  }
  const auto first = static_cast<int64_t>(std::bit_floor(count - 1));
  auto total = ordered_sum(rows.narrow(0, 0, first));
  if (total.scalar_type() == at::kBFloat16 || total.scalar_type() == at::kHalf) {
    total = total.to(at::kFloat);
  }
  return total.add_(ordered_sum(rows.narrow(0, first, rows.size(0) - first)));
}

int64_t count_of(const at::Tensor& slice, int64_t part, int rank) {
  return std::clamp<int64_t>(slice.numel() - rank * part, 0, part);
}

}  // namespace weft::train
