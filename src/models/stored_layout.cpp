#include "models/stored_layout.h"

namespace weft::models {

namespace {

constexpr int64_t kParts = 3;  // query, key and value

}  // namespace

at::Tensor rows_of(const at::Tensor& parameter, const StoredTensor& tensor) {
  return parameter.narrow(0, tensor.first_row, tensor.rows());
}

at::Tensor from_stored(const at::Tensor& stored, const StoredTensor& tensor) {
  if (tensor.is_transposed) {
    return stored.t();
  }
  if (tensor.interleaved_heads > 0) {
    const int64_t rows = stored.size(0);
    const auto by_head = stored.reshape(
        {tensor.interleaved_heads, kParts, rows / (tensor.interleaved_heads * kParts), -1});
    return by_head.transpose(0, 1).reshape(stored.sizes());
  }
  return stored;
}

at::Tensor to_stored(const at::Tensor& rows, const StoredTensor& tensor) {
  if (tensor.is_transposed) {
    return rows.t();
  }
  if (tensor.interleaved_heads > 0) {
    const auto by_part = rows.reshape(
        {kParts, tensor.interleaved_heads, rows.size(0) / (tensor.interleaved_heads * kParts), -1});
    return by_part.transpose(0, 1).reshape(tensor.shape);
  }
  return rows.reshape(tensor.shape);
}

}  // namespace weft::models
