#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "formats/safetensors.h"

namespace weft::models {

/// Tensor over the bytes of a view, without a copy; it must not outlive the file. Bytes that are
/// not aligned to the dtype's width are copied.
at::Tensor tensor_of(const formats::TensorView& view);

/// Contiguous CPU copy of the tensor in a file dtype.
at::Tensor to_dtype(const at::Tensor& tensor, formats::DType dtype);

/// View of a contiguous CPU tensor, which must outlive it.
formats::TensorView view_of(const at::Tensor& tensor);

/// `(99, 32)`.
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace weft::models
