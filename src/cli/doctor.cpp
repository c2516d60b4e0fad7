#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/ones.h>
#include <dlfcn.h>
#include <torch/version.h>

#include "base/machine.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/environment_defaults.h"
#include "formats/json.h"
#include "kernels/attention/flash_attention.h"
#include "kernels/cuda/kernel_table.h"
#include "kernels/linear/product.h"
#include "train/distributed/backends.h"
#include "train/run/device.h"

namespace weft::cli {
namespace {

using Seconds = std::chrono::duration<double>;

/// TFLOP/s of square matrix products on a device, the best of several short rounds: other load on
/// the machine only lowers the result.
double measure_rate(at::Device device, at::ScalarType dtype, int64_t size) {
  constexpr double kBudget = 0.3;  // seconds
  const auto a = at::ones({size, size}, at::device(device).dtype(dtype));
  auto product = kernels::product(a, a);  // the first one initialises the library
  double best = 0;
  const auto start = std::chrono::steady_clock::now();
  for (Seconds spent{0}; spent.count() < kBudget;) {
    const auto begin = std::chrono::steady_clock::now();
    product = kernels::product(a, a);
    product[0][0].item();  // synchronizes the GPU
    const auto end = std::chrono::steady_clock::now();
    best = std::max(best,
                    2e-12 * static_cast<double>(size * size * size) / Seconds(end - begin).count());
    spent = end - start;
  }
  return best;
}

/// The same on a GPU, which only large products keep busy: the largest up to 8192 that take at most
/// a moment each.
double measure_gpu_rate(at::Device device, at::ScalarType dtype) {
  constexpr double kMoment = 0.02;  // seconds
  double rate = 0;
  double seconds = 0;
  for (int64_t size = 1024; size <= 8192 && seconds < kMoment; size *= 2) {
    rate = measure_rate(device, dtype, size);
    seconds = 2e-12 * static_cast<double>(size * size * size) / rate;
  }
  return rate;
}

/// Directory of the LibTorch that this process uses.
std::string libtorch_folder() {
  Dl_info place{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): dladdr takes any address.
  if (::dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &place) == 0 ||
      place.dli_fname == nullptr) {
    return "";
  }
  return std::filesystem::weakly_canonical(place.dli_fname).parent_path().string();
}

bool is_cuda_build() { return at::detail::getCUDAHooks().hasCUDART(); }

struct Diagnosis {
  Machine machine;
  int threads = 0;
  int gpus = 0;                           // visible to LibTorch
  double fp32 = 0, bf16 = 0;              // TFLOP/s on the CPU
  double gpu_fp32 = 0, gpu_bf16 = 0;      // TFLOP/s on the first GPU
  bool has_flash_attention = false;       // on the first GPU
  train::PrecisionChoice precision = {};  // with train.precision: auto
};

Diagnosis diagnose() {
  constexpr int64_t kOnCpu = 1024;
  Diagnosis found{.machine = read_machine(), .threads = at::get_num_threads()};
  found.fp32 = measure_rate(at::kCPU, at::kFloat, kOnCpu);
  found.bf16 = measure_rate(at::kCPU, at::kBFloat16, kOnCpu);
  found.gpus = at::detail::getCUDAHooks().deviceCount();
  if (found.gpus > 0) {
    const at::Device first(at::kCUDA, 0);
    found.gpu_fp32 = measure_gpu_rate(first, at::kFloat);
    found.gpu_bf16 = measure_gpu_rate(first, at::kBFloat16);
    found.has_flash_attention = kernels::gpu::has_flash_attention(first);
  }
  found.precision = train::fastest_precision(train::choose_device(train::DeviceChoice::kAuto));
  return found;
}

void advise_on_threads(const Diagnosis& found, std::vector<std::string>& hints) {
  const auto* asked = std::getenv("OMP_NUM_THREADS");
  const int online = static_cast<int>(std::thread::hardware_concurrency());
  if (asked != nullptr && found.threads < online) {
    hints.push_back(str_cat("OMP_NUM_THREADS=", asked, " limits the computation to ", found.threads,
                            " of ", online, " cores: unset it to use all"));
  }
  if (found.machine.core_quota > 0 && found.machine.core_quota < found.threads) {
    hints.push_back(str_cat("the control group (cgroup) allows ", found.machine.core_quota,
                            " cores, but ", found.threads,
                            " threads are used: set OMP_NUM_THREADS to the number of cores"));
  }
}

std::vector<std::string> advise(const Diagnosis& found) {
  std::vector<std::string> hints;
  advise_on_threads(found, hints);
  if (found.machine.allocator == "libc") {
    hints.emplace_back(
        "tcmalloc is not linked: it often makes training 10 to 20 % faster; install "
        "libgoogle-perftools-dev and rebuild");
  }
  if (found.machine.huge_pages == "never") {
    hints.emplace_back(
        "transparent huge pages are off: `madvise` in /sys/kernel/mm/transparent_hugepage/enabled "
        "can speed up large models");
  }
  if (found.gpus == 0 && !found.machine.gpus.empty()) {
    hints.push_back(str_cat("found ", found.machine.gpus.front(),
                            is_cuda_build() ? ", but its driver does not respond"
                                            : ", but this LibTorch is a CPU build",
                            ": build with a CUDA LibTorch (LIBTORCH=DIRECTORY scripts/build)"));
  }
  if (found.gpus > 0 && kernels::cuda::kernel_table() == nullptr) {
    hints.emplace_back(
        "this program was built without nvcc, so that the GPU runs LibTorch's operations only: "
        "install the CUDA toolkit and rebuild");
  }
  if (found.gpus > 1 && !train::has_nccl()) {
    hints.emplace_back(
        "several GPUs, but this program was built without NCCL, so that each run uses one: install "
        "the headers of CUDA and NCCL and rebuild");
  }
  if (found.gpus > 0 && found.machine.memory > 0 && found.machine.cores < 2) {
    hints.emplace_back(
        "a GPU with a single CPU core: data loading may be the bottleneck, give the process more "
        "cores");
  }
  constexpr int64_t kSmallMemory = int64_t{2} << 30;
  if (found.machine.free_memory > 0 && found.machine.free_memory < kSmallMemory) {
    hints.push_back(str_cat(
        "only ", format_bytes(static_cast<double>(found.machine.free_memory)),
        " of memory are free: lower train.micro_batch_tokens to reduce the memory of a step"));
  }
  return hints;
}

formats::Json as_json(const Diagnosis& found) {
  const auto& machine = found.machine;
  formats::Json json{
      {"weft", WEFT_VERSION},
      {"libtorch",
       {{"version", TORCH_VERSION},
        {"folder", libtorch_folder()},
        {"cpu_level", at::get_cpu_capability()},
        {"cuda", is_cuda_build()},
        {"nccl", train::has_nccl()}}},
      {"cpu",
       {{"model", machine.cpu},
        {"features", machine.features},
        {"cores", machine.cores},
        {"threads", found.threads},
        {"thread_wait", omp_wait_policy()}}},
      {"tflops", {{"fp32", found.fp32}, {"bf16", found.bf16}}},
      {"precision",
       {{"auto", train::precision_name(found.precision.type)}, {"reason", found.precision.reason}}},
      {"memory",
       {{"total", machine.memory},
        {"available", machine.free_memory},
        {"huge_pages", machine.huge_pages},
        {"allocator", machine.allocator}}},
      {"disk", {{"free", machine.free_disk}}},
      {"gpus", {{"usable", found.gpus}, {"models", machine.gpus}}},
  };
  if (found.gpus > 0) {
    json["gpus"]["tflops"] = {{"fp32", found.gpu_fp32}, {"bf16", found.gpu_bf16}};
    json["gpus"]["flash_attention"] = found.has_flash_attention;
  }
  json["hints"] = advise(found);
  return json;
}

void print_doctor_line(std::string_view name, const std::string& value) {
  std::cout << std::left << std::setw(11) << name << value << "\n";
}

std::string rates(double fp32, double bf16) {
  return str_cat(std::fixed, std::setprecision(2), "fp32 ", fp32, " TFLOP/s, bf16 ", bf16,
                 " TFLOP/s (", std::setprecision(1), bf16 / fp32, " times)");
}

void print(const Diagnosis& found) {
  const auto& machine = found.machine;
  print_doctor_line("weft", WEFT_VERSION);
  print_doctor_line("LibTorch", str_cat(TORCH_VERSION,
                                        !is_cuda_build()    ? " for CPUs, "
                                        : train::has_nccl() ? " with CUDA and NCCL, "
                                                            : " with CUDA, ",
                                        libtorch_folder()));
  print_doctor_line("CPU", str_cat(machine.cpu.empty() ? "unknown" : machine.cpu,
                                   ", LibTorch computes with ", at::get_cpu_capability()));
  print_doctor_line("features",
                    machine.features.empty() ? "none that matter" : join(machine.features));
  print_doctor_line(
      "threads", str_cat(found.threads, " on ", machine.cores, " cores, thread waiting policy: ",
                         omp_wait_policy().empty() ? "default of the library" : omp_wait_policy()));
  print_doctor_line("products", rates(found.fp32, found.bf16));
  print_doctor_line("memory", str_cat(format_bytes(static_cast<double>(machine.memory)), ", ",
                                      format_bytes(static_cast<double>(machine.free_memory)),
                                      " free, huge pages: ",
                                      machine.huge_pages.empty() ? "unknown" : machine.huge_pages));
  print_doctor_line("allocator", machine.allocator);
  print_doctor_line("disk", format_bytes(static_cast<double>(machine.free_disk)) + " free here");
  print_doctor_line("GPUs", machine.gpus.empty() && found.gpus == 0
                                ? "none"
                                : str_cat(found.gpus, " usable: ", join(machine.gpus)));
  if (found.gpus > 0) {
    print_doctor_line(
        "on GPU 0", rates(found.gpu_fp32, found.gpu_bf16) +
                        (found.has_flash_attention ? ", flash attention" : ", no flash attention"));
  }
  print_doctor_line("precision", str_cat("auto is ", train::precision_name(found.precision.type),
                                         ": ", found.precision.reason));
  const auto hints = advise(found);
  std::cout << (hints.empty() ? "\nNo problems found.\n" : "\nSuggestions:\n");
  for (const auto& hint : hints) {
    std::cout << "- " << hint << "\n";
  }
}

}  // namespace

int run_doctor(std::vector<std::string> raw) {
  Arguments arguments({.usage = "weft doctor [--json]",
                       .description = "Describes this machine (LibTorch, CPU, measured speed, "
                                      "memory, GPUs) and suggests how to make training faster.",
                       .examples = {"weft doctor", "weft doctor --json"}},
                      0, 0);
  arguments.flag("json", "Write one JSON object instead");
  if (!arguments.parse(raw)) {
    return 0;
  }
  const auto found = diagnose();
  if (arguments.has("json")) {
    std::cout << as_json(found).dump() << "\n";
  } else {
    print(found);
  }
  return 0;
}

}  // namespace weft::cli
