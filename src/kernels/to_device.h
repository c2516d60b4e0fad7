#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Copies a host tensor to the device; returns it as is if that is the host. Copies to a GPU go
/// through pinned memory and do not block.
at::Tensor to_device(const at::Tensor& x, const at::Device& device);

/// Copies the values to the device, as int64 or float32: (N).
at::Tensor to_device(const std::vector<int64_t>& values, const at::Device& device);
at::Tensor to_device(const std::vector<float>& values, const at::Device& device);
at::Tensor to_device(const std::vector<double>& values, const at::Device& device);

}  // namespace weft::kernels
