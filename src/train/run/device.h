#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "models/config/options.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// Returns the device to compute on. Throws UserError if CUDA is requested but not available.
c10::Device choose_device(DeviceChoice choice);

/// Sets the number of compute threads of this process: as requested, or all cores. Returns it.
int64_t set_threads(const std::optional<int64_t>& threads);

/// Waits for all work of the device; no-op on a CPU.
void synchronize(const c10::Device& device);

/// Precision of a run and the reason, as text.
struct PrecisionChoice {
  c10::ScalarType type = c10::ScalarType::Float;
  std::string reason;
};

/// The precision as far as config and model determine it: kAuto only where a benchmark decides. A
/// bag of words has no matrix products, so that bf16 would gain nothing.
Precision determined_precision(Precision requested, const models::ModelOptions& model);

/// auto: the precision of the run being resumed (`earlier`), otherwise the faster one in a short
/// benchmark of matrix products of the model's width.
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

}  // namespace weft::train
