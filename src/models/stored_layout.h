#pragma once

#include <ATen/core/Tensor.h>

#include "models/names.h"

namespace weft::models {

/// The rows of our parameter that a stored tensor holds: a view.
at::Tensor rows_of(const at::Tensor& parameter, const StoredTensor& tensor);

/// What a file holds, brought to the order and shape of those rows, and back.
at::Tensor from_stored(const at::Tensor& stored, const StoredTensor& tensor);
at::Tensor to_stored(const at::Tensor& rows, const StoredTensor& tensor);

}  // namespace weft::models
