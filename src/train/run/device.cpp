#include "train/run/device.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/resource.h>
#include <torch/version.h>

#include "base/error.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/linear/blocked_product.h"
#include "models/config/family.h"
#include "train/distributed/launch_environment.h"

namespace weft::train {

namespace {

bool has_cuda() {
  return at::globalContext().hasCUDA() && at::detail::getCUDAHooks().deviceCount() > 0;
}

/// Makes the GPU of this rank the current one of this thread.
c10::Device select_gpu() {
  const auto environment = read_launch_environment();
  const int gpus = static_cast<uint8_t>(at::detail::getCUDAHooks().deviceCount());
  if (environment.local_rank >= gpus) {
    throw UserError(str_cat("run.device: ", environment.local_world_size,
                            " ranks on this machine need a GPU each, it has ", gpus,
                            "; start as many ranks as GPUs, or use the CPU (run.device: cpu)"));
  }
  const c10::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(environment.local_rank));
  if (environment.local_rank > 0) {
    c10::impl::getDeviceGuardImpl(at::kCUDA)->setDevice(device);
  }
  return device;
}

}  // namespace

c10::Device choose_device(DeviceChoice choice) {
  switch (choice) {
    case DeviceChoice::kCpu:
      return at::kCPU;
    case DeviceChoice::kCuda:
      if (!has_cuda()) {
        throw UserError(
            "run.device: cuda, but this machine or LibTorch has no usable GPU; allowed here: auto, "
            "cpu");
      }
      return select_gpu();
    case DeviceChoice::kAuto:
      return has_cuda() ? select_gpu() : at::Device(at::kCPU);
  }
  return at::kCPU;
}

int64_t set_threads(const std::optional<int64_t>& threads, int64_t processes) {
  const auto count =
      static_cast<int>(threads.value_or(std::max<int64_t>(1, available_cores() / processes)));
  at::set_num_threads(count);
  return count;
}

void synchronize(const c10::Device& device) {
  if (device.is_cuda()) {
    at::detail::getCUDAHooks().deviceSynchronize(device.index());
  }
}

PrecisionChoice fastest_precision(const c10::Device& device) {
  if (device.is_cpu()) {
    if (!kernels::multiplies_bf16()) {
      return {.type = at::kFloat, .reason = "the CPU has no fast bf16 products"};
    }
    return {.type = at::kBFloat16,
            .reason = kernels::cpu::has_amx()
                          ? "the CPU has AMX for bf16"
                          : "the CPU has AVX512-BF16 at twice the rate of fp32"};
  }
  // LibTorch's name for compute capability 8.0 and later, of the current device.
  return at::detail::getCUDAHooks().supportsBFloat16ConvolutionWithCuDNNv8()
             ? PrecisionChoice{at::kBFloat16, "the GPU has compute capability 8.0 or later"}
             : PrecisionChoice{at::kFloat, "the GPU has a compute capability below 8.0"};
}

PrecisionChoice choose_precision(Precision requested,
                                 const std::optional<std::string>& earlier,
                                 const models::ModelOptions& model,
                                 const c10::Device& device) {
  switch (requested) {
    case Precision::kFp32:
      return {.type = at::kFloat, .reason = "as configured"};
    case Precision::kBf16:
      return {.type = at::kBFloat16, .reason = "as configured"};
    case Precision::kAuto:
      if (earlier) {
        return {.type = *earlier == "bf16" ? at::kBFloat16 : at::kFloat,
                .reason = "as at the start of the run"};
      }
      return models::capabilities_of(model.family).has_matrix_products
                 ? fastest_precision(device)
                 : PrecisionChoice{at::kFloat, "the model has no matrix products"};
  }
  return {};
}

std::string precision_name(c10::ScalarType type) { return type == at::kBFloat16 ? "bf16" : "fp32"; }

std::string versions() {
  return str_cat("LibTorch ", TORCH_VERSION, ", ", at::get_cpu_capability());
}

int64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{1024} * usage.ru_maxrss;
}

std::optional<int64_t> peak_device_memory(const c10::Device& device) {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 10
  if (!device.is_cpu()) {
    if (auto* allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()))) {
      return allocator->getDeviceStats(device.index()).allocated_bytes.front().peak;
    }
  }
#endif
  return std::nullopt;
}

}  // namespace weft::train
