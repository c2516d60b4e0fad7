#include "train/distributed/pieces.h"

#include <cstdint>

#include <ATen/ATen.h>

namespace weft::train {
namespace {

constexpr int64_t kPieceBytes = 4 << 20;

}  // namespace

void check_slice(const at::Tensor& slice) {
  TORCH_CHECK(slice.dim() == 1 && slice.is_contiguous(),
              "ProcessGroup expects a contiguous slice (N), got sizes ", slice.sizes(),
              ", strides ", slice.strides());
}

std::vector<at::Tensor> pieces_of(const at::Tensor& slice, int ranks) {
  const int64_t most = std::max<int64_t>(kPieceBytes / slice.element_size() / ranks, 1) * ranks;
  std::vector<at::Tensor> pieces;
  for (int64_t begin = 0; begin < slice.numel(); begin += most) {
    pieces.push_back(slice.narrow(0, begin, std::min(most, slice.numel() - begin)));
  }
  return pieces;
}

at::Tensor ordered_sum(const at::Tensor& rows) {
  const bool is_short = rows.scalar_type() == at::kBFloat16 || rows.scalar_type() == at::kHalf;
  auto total = is_short ? rows.select(0, 0).to(at::kFloat) : rows.select(0, 0);
  for (int64_t row = 1; row < rows.size(0); ++row) {
    total.add_(rows.select(0, row));
  }
  return total;
}

}  // namespace weft::train
