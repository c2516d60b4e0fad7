#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// A tensor of the host on the device; itself where that is the host. It goes to a GPU through
/// pinned memory, and nothing waits for it.
at::Tensor to_device(const at::Tensor& x, const at::Device& device);

/// A copy of the numbers on the device, as int64 or float32: (N).
at::Tensor to_device(const std::vector<int64_t>& values, const at::Device& device);
at::Tensor to_device(const std::vector<float>& values, const at::Device& device);
at::Tensor to_device(const std::vector<double>& values, const at::Device& device);

}  // namespace weft::kernels
