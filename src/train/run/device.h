#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "models/config/options.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// Returns the device to compute on; of several GPUs that of this process's local rank. Throws
/// UserError if CUDA is requested but not available, or if there are fewer GPUs than local ranks.
c10::Device choose_device(DeviceChoice choice);

/// Sets the number of compute threads of this process: as requested, or all cores, divided among
/// the `processes` of this run on this machine. Returns it.
int64_t set_threads(const std::optional<int64_t>& threads, int64_t processes = 1);

/// Waits for all work of the device; no-op on a CPU.
void synchronize(const c10::Device& device);

/// Precision of a run and the reason, as text.
struct PrecisionChoice {
  c10::ScalarType type = c10::ScalarType::Float;
  std::string reason;
};

/// What `auto` is on a device. A function of the processor alone, so that a run has the same bits
/// on a busy machine.
PrecisionChoice fastest_precision(const c10::Device& device);

/// auto: the precision of the run being resumed (`earlier`), otherwise the fastest; fp32 for a bag
/// of words, which has no matrix products.
PrecisionChoice choose_precision(Precision requested,
                                 const std::optional<std::string>& earlier,
                                 const models::ModelOptions& model,
                                 const c10::Device& device);

/// `fp32` or `bf16`.
std::string precision_name(c10::ScalarType type);

/// `LibTorch 2.13.0, AVX512`: versions that may change the last bits of a result.
std::string versions();

/// Peak memory of the process, in bytes.
int64_t peak_memory();

/// Peak memory of this process's tensors on a GPU, in bytes. None on a CPU, and before LibTorch
/// 2.10, which does not count it.
std::optional<int64_t> peak_device_memory(const c10::Device& device);

}  // namespace weft::train
