#include "train/run/device.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/grad_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <sys/resource.h>
#include <torch/version.h>

#include "base/error.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "kernels/linear/product.h"
#include "models/config/family.h"

namespace weft::train {

namespace {

using Seconds = std::chrono::duration<double>;

bool has_cuda() {
  return at::globalContext().hasCUDA() && at::detail::getCUDAHooks().deviceCount() > 0;
}

// TFLOP/s of a linear layer's matrix product, the best of several rounds that together take
// `budget` seconds.
double matmul_tflops(const at::Device& device, at::ScalarType type, int64_t width, double budget) {
  constexpr int64_t kRows = 1024;
  const auto options = at::device(device).dtype(type);
  const auto x = at::ones({kRows, width}, options);
  const auto weight = at::ones({4 * width, width}, options).t();
  kernels::product(x, weight);  // initialises the library
  synchronize(device);
  double best = 0;
  for (double spent = 0; spent < budget;) {
    const auto begin = std::chrono::steady_clock::now();
    kernels::product(x, weight);
    synchronize(device);
    const double seconds = Seconds(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, 8e-12 * static_cast<double>(kRows * width * width) / seconds);
    spent += seconds;
  }
  return best;
}

PrecisionChoice measure_precision(int64_t width, const at::Device& device) {
  constexpr double kBudget = 0.03;  // seconds per type; delays the start of every run
  const at::NoGradGuard no_grad;
  const double fp32 = matmul_tflops(device, at::kFloat, width, kBudget);
  const double bf16 = matmul_tflops(device, at::kBFloat16, width, kBudget);
  const bool is_faster = bf16 > 1.1 * fp32;
  const auto rates =
      str_cat("matrix products run at ", shortest_repr(std::round(bf16 * 1000) / 1000),
              " TFLOP/s in bf16, ", shortest_repr(std::round(fp32 * 1000) / 1000), " in fp32");
  return {.type = is_faster ? at::kBFloat16 : at::kFloat, .reason = rates};
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
      return at::Device(at::kCUDA, 0);
    case DeviceChoice::kAuto:
      return has_cuda() ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU);
  }
  return at::kCPU;
}

int64_t set_threads(const std::optional<int64_t>& threads) {
  const auto count = static_cast<int>(threads.value_or(available_cores()));
  at::set_num_threads(count);
  return count;
}

void synchronize(const c10::Device& device) {
  if (device.is_cuda()) {
    at::detail::getCUDAHooks().deviceSynchronize(device.index());
  }
}

Precision determined_precision(Precision requested, const models::ModelOptions& model) {
  return requested == Precision::kAuto && !models::capabilities_of(model.family).has_matrix_products
             ? Precision::kFp32
             : requested;
}

PrecisionChoice choose_precision(Precision requested,
                                 const std::optional<std::string>& earlier,
                                 const models::ModelOptions& model,
                                 const c10::Device& device) {
  switch (determined_precision(requested, model)) {
    case Precision::kFp32:
      return {.type = at::kFloat, .reason = "as configured"};
    case Precision::kBf16:
      return {.type = at::kBFloat16, .reason = "as configured"};
    case Precision::kAuto:
      if (earlier) {
        return {.type = *earlier == "bf16" ? at::kBFloat16 : at::kFloat,
                .reason = "as at the start of the run"};
      }
      return measure_precision(model.dim, device);
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

}  // namespace weft::train
