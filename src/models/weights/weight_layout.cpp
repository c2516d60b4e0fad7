#include "models/weights/weight_layout.h"

namespace weft::models {

namespace {

constexpr int64_t kParts = 3;  // query, key and value

}  // namespace

at::Tensor rows_of(const at::Tensor& parameter, const StoredTensor& tensor) {
  return parameter.narrow(0, tensor.first_row, tensor.rows());
}

at::Tensor deinterleave_heads(const at::Tensor& stored, int64_t heads) {
  if (heads == 0) {
    return stored;
  }
  const auto by_head = stored.reshape({heads, kParts, stored.size(0) / (heads * kParts), -1});
  return by_head.transpose(0, 1).reshape(stored.sizes());
}

at::Tensor interleave_heads(const at::Tensor& rows, int64_t heads) {
  if (heads == 0) {
    return rows;
  }
  const auto by_part = rows.reshape({kParts, heads, rows.size(0) / (heads * kParts), -1});
  return by_part.transpose(0, 1).reshape(rows.sizes());
}

at::Tensor from_file_layout(const at::Tensor& stored, const StoredTensor& tensor) {
  return tensor.is_transposed ? stored.t() : deinterleave_heads(stored, tensor.interleaved_heads);
}

at::Tensor to_file_layout(const at::Tensor& rows, const StoredTensor& tensor) {
  return tensor.is_transposed
             ? rows.t()
             : interleave_heads(rows, tensor.interleaved_heads).reshape(tensor.shape);
}

}  // namespace weft::models
