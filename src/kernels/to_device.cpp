#include "kernels/to_device.h"

#include <ATen/Functions.h>

namespace weft::kernels {

at::Tensor to_device(const at::Tensor& x, const at::Device& device) {
  return device.is_cuda() && x.device().is_cpu() && x.numel() > 0
             ? x.pin_memory().to(device, /*non_blocking=*/true)
             : x.to(device);
}

at::Tensor to_device(const std::vector<int64_t>& values, const at::Device& device) {
  return to_device(at::tensor(values, at::kLong), device);
}

at::Tensor to_device(const std::vector<double>& values, const at::Device& device) {
  return to_device(at::tensor(values, at::kDouble).to(at::kFloat), device);
}

}  // namespace weft::kernels
