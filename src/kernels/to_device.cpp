#include "kernels/to_device.h"

#include <ATen/Functions.h>
#include <ATen/ops/from_blob.h>

namespace weft::kernels {
namespace {

// Pinning already copies, so a GPU needs no extra copy on the host.
template <class T>
at::Tensor copied(const std::vector<T>& values, at::ScalarType type, const at::Device& device) {
  auto* data = const_cast<T*>(values.data());  // never written through
  const auto view = at::from_blob(data, {static_cast<int64_t>(values.size())}, type);
  return device.is_cpu() ? view.clone() : to_device(view, device);
}

}  // namespace

at::Tensor to_device(const at::Tensor& x, const at::Device& device) {
  return device.is_cuda() && x.device().is_cpu() && x.numel() > 0
             ? x.pin_memory().to(device, /*non_blocking=*/true)
             : x.to(device);
}

at::Tensor to_device(const std::vector<int64_t>& values, const at::Device& device) {
  return copied(values, at::kLong, device);
}

at::Tensor to_device(const std::vector<float>& values, const at::Device& device) {
  return copied(values, at::kFloat, device);
}

at::Tensor to_device(const std::vector<double>& values, const at::Device& device) {
  return to_device(at::tensor(values, at::kDouble).to(at::kFloat), device);
}

}  // namespace weft::kernels
