#include "cli/forward/padded.h"

#include <vector>

#include <ATen/Functions.h>

#include "base/text.h"
#include "formats/error.h"

namespace weft::cli {

namespace {

/// Lengths of the rows as offsets.
std::vector<int64_t> offsets_of(const at::Tensor& mask, const std::string& place) {
  std::vector<int64_t> offsets = {0};
  const auto* values = mask.const_data_ptr<int64_t>();
  for (int64_t row = 0; row < mask.size(0); ++row, values += mask.size(1)) {
    int64_t length = 0;
    for (int64_t column = 0; column < mask.size(1); ++column) {
      if (values[column] != 0 && values[column] != 1) {
        throw formats::Error(text(place, ": attention_mask: row ", row, " has ", values[column],
                                  ", allowed is 0 or 1"));
      }
      if (values[column] == 1 && column != length) {
        throw formats::Error(text(place, ": attention_mask: row ", row,
                                  " has a 0 before a 1, padding is allowed on the right only"));
      }
      length += values[column];
    }
    if (length == 0) {
      throw formats::Error(
          text(place, ": attention_mask: row ", row, " has no 1, at least one is needed"));
    }
    offsets.push_back(offsets.back() + length);
  }
  return offsets;
}

}  // namespace

Padded::Padded(int64_t rows, int64_t columns, const at::Tensor& mask, const std::string& place)
    : rows_(rows), columns_(columns) {
  const auto whole =
      mask.defined() ? mask.to(at::kLong).contiguous() : at::ones({rows, columns}, at::kLong);
  layout_ = kernels::Layout::of(offsets_of(whole, place), at::kCPU);
  real_ = whole.flatten().to(at::kBool);
  places_ = real_.nonzero().squeeze(1);
}

at::Tensor Padded::pack(const at::Tensor& padded) const {
  return padded.flatten(0, 1).index_select(0, places_);
}

at::Tensor Padded::unpack(const at::Tensor& packed) const {
  auto sizes = packed.sizes().vec();
  sizes[0] = rows_ * columns_;
  const auto flat = at::zeros(sizes, packed.options()).index_copy(0, places_, packed);
  return flat.unflatten(0, {rows_, columns_});
}

at::Tensor Padded::rest(const at::Tensor& padded) const {
  return padded.flatten().masked_select(real_.logical_not());
}

}  // namespace weft::cli
