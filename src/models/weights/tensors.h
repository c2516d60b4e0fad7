#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "formats/safetensors.h"

namespace weft::models {

/// A tensor over the bytes of a view, without copying; it lives no longer than the file. Bytes that
/// do not lie at a multiple of their width are copied.
at::Tensor tensor_of(const formats::TensorView& view);

/// A contiguous CPU copy of the tensor in a dtype of files.
at::Tensor converted(const at::Tensor& tensor, formats::DType dtype);

/// A view over a contiguous CPU tensor, which must outlive it.
formats::TensorView view_of(const at::Tensor& tensor);

/// `(99, 32)`.
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace weft::models
