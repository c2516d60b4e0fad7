#include "cli/forward/padded_batch.h"

#include <vector>

#include <ATen/Functions.h>

#include "base/string_util.h"
#include "formats/error.h"

namespace weft::cli {

namespace {

/// Cumulative row lengths, as offsets.
std::vector<int64_t> offsets_of(const at::Tensor& mask, const std::string& location) {
  std::vector<int64_t> offsets = {0};
  const auto* values = mask.const_data_ptr<int64_t>();
  for (int64_t row = 0; row < mask.size(0); ++row, values += mask.size(1)) {
    int64_t length = 0;
    for (int64_t column = 0; column < mask.size(1); ++column) {
      if (values[column] != 0 && values[column] != 1) {
        throw formats::Error(str_cat(location, ": attention_mask: row ", row, " has ",
                                     values[column], ", allowed is 0 or 1"));
      }
      if (values[column] == 1 && column != length) {
        throw formats::Error(str_cat(location, ": attention_mask: row ", row,
                                     " has a 0 before a 1, padding is only allowed on the right"));
      }
      length += values[column];
    }
    if (length == 0) {
      throw formats::Error(
          str_cat(location, ": attention_mask: row ", row, " has no 1, at least one is required"));
    }
    offsets.push_back(offsets.back() + length);
  }
  return offsets;
}

}  // namespace

PaddedBatch::PaddedBatch(int64_t rows,
                         int64_t columns,
                         const at::Tensor& mask,
                         const std::string& location)
    : rows_(rows), columns_(columns) {
  const auto whole =
      mask.defined() ? mask.to(at::kLong).contiguous() : at::ones({rows, columns}, at::kLong);
  layout_ = kernels::Layout::from_offsets(offsets_of(whole, location), at::kCPU);
  is_real_ = whole.flatten().to(at::kBool);
  real_indices_ = is_real_.nonzero().squeeze(1);
}

at::Tensor PaddedBatch::pack(const at::Tensor& padded) const {
  return padded.flatten(0, 1).index_select(0, real_indices_);
}

at::Tensor PaddedBatch::unpack(const at::Tensor& packed) const {
  auto sizes = packed.sizes().vec();
  sizes[0] = rows_ * columns_;
  const auto flat = at::zeros(sizes, packed.options()).index_copy(0, real_indices_, packed);
  return flat.unflatten(0, {rows_, columns_});
}

at::Tensor PaddedBatch::padding_values(const at::Tensor& padded) const {
  return padded.flatten().masked_select(is_real_.logical_not());
}

}  // namespace weft::cli
