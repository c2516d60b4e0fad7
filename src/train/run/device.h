#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "train/optimizer/train_options.h"

namespace weft::train {

/// The device to compute on. Throws UserError where CUDA is asked for and there is none.
c10::Device choose_device(DeviceChoice choice);

/// Threads of the arithmetic: as asked for, else all cores. Sets them for this process and returns
/// their number.
int64_t set_threads(const std::optional<int64_t>& threads);

/// Waits for all work of the device; nothing to do on a CPU.
void synchronize(const c10::Device& device);

/// The number format of a run and, in words, why.
struct PrecisionChoice {
  c10::ScalarType type = c10::ScalarType::Float;
  std::string reason;
};

/// auto: what a run that goes on had before (`earlier`), else the faster one in a short trial of
/// products of the model's width.
PrecisionChoice choose_precision(Precision wish,
                                 const std::optional<std::string>& earlier,
                                 int64_t width,
                                 const c10::Device& device);

/// `fp32` or `bf16`.
std::string precision_name(c10::ScalarType type);

/// `LibTorch 2.13.0, AVX512`: what may change the last bits of a result.
std::string versions();

/// Most memory that the process has held, in bytes.
int64_t peak_memory();

}  // namespace weft::train
