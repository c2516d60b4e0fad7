#pragma once

#include <ATen/core/Tensor.h>

#include "models/weights/weight_map.h"

namespace weft::models {

/// View of the parameter's rows that a stored tensor contains.
at::Tensor rows_of(const at::Tensor& parameter, const StoredTensor& tensor);

/// Converts rows stored head by head, with query, key and value of each
/// (StoredTensor::interleaved_heads), to our order, all queries first, and back. heads 0: no
/// change.
at::Tensor deinterleave_heads(const at::Tensor& stored, int64_t heads);
at::Tensor interleave_heads(const at::Tensor& rows, int64_t heads);

/// Converts a stored tensor to the order and shape of those rows, and back.
at::Tensor from_file_layout(const at::Tensor& stored, const StoredTensor& tensor);
at::Tensor to_file_layout(const at::Tensor& rows, const StoredTensor& tensor);

}  // namespace weft::models
