#pragma once

#include <ATen/core/Tensor.h>

#include "models/weights/names.h"

namespace weft::models {

/// The rows of our parameter that a stored tensor holds: a view.
at::Tensor rows_of(const at::Tensor& parameter, const StoredTensor& tensor);

/// Rows that a file has head by head, query, key and value of each
/// (StoredTensor::interleaved_heads), brought to our order, all queries first, and back. heads 0:
/// as they are.
at::Tensor from_heads(const at::Tensor& stored, int64_t heads);
at::Tensor to_heads(const at::Tensor& rows, int64_t heads);

/// What a file holds, brought to the order and shape of those rows, and back.
at::Tensor from_stored(const at::Tensor& stored, const StoredTensor& tensor);
at::Tensor to_stored(const at::Tensor& rows, const StoredTensor& tensor);

}  // namespace weft::models
