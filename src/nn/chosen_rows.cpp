#include "nn/chosen_rows.h"

#include <numeric>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/to_device.h"

namespace weft::nn {

namespace {

/// One token of each sequence; chance counts the sequences.
ChosenRows one_of_each(const at::Tensor& index, const Pass& pass) {
  std::vector<int64_t> offsets(pass.layout.offsets.size());
  std::iota(offsets.begin(), offsets.end(), 0);
  return {.index = index.to(at::kLong),
          .layout = kernels::Layout::of(std::move(offsets), index.device()),
          .first_row = pass.first_sequence};
}

}  // namespace

ChosenRows ChosenRows::of(const std::vector<int64_t>& rows, const Pass& pass, int64_t first_row) {
  const auto device = pass.layout.positions.device();
  std::vector<int64_t> offsets{0};
  auto row = rows.begin();
  for (std::size_t b = 1; b < pass.layout.offsets.size(); ++b) {
    while (row != rows.end() && *row >= pass.layout.offsets[b - 1] &&
           *row < pass.layout.offsets[b]) {
      ++row;
    }
    offsets.push_back(row - rows.begin());
  }
  TORCH_CHECK(row == rows.end(), "row ", *row, " of ", pass.layout.tokens(),
              " is chosen out of order");
  return {.index = kernels::to_device(rows, device),
          .layout = kernels::Layout::of(std::move(offsets), device),
          .first_row = first_row};
}

ChosenRows ChosenRows::first_tokens(const Pass& pass) {
  return one_of_each(pass.layout.device_offsets.slice(0, 0, pass.layout.sequences()), pass);
}

ChosenRows ChosenRows::last_tokens(const Pass& pass) {
  return one_of_each(pass.layout.device_offsets.slice(0, 1) - 1, pass);
}

at::Tensor ChosenRows::of(const at::Tensor& x) const { return x.index_select(0, index); }

Pass ChosenRows::of(const Pass& pass) const {
  auto result = pass;
  result.layout = layout;
  result.first_row = first_row;
  return result;
}

}  // namespace weft::nn
