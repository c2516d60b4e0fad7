#pragma once

#include <cstdint>
#include <optional>

#include <c10/core/Device.h>

#include "cli/command.h"
#include "models/inference.h"

namespace weft::cli {

/// `--device auto|cpu|cuda`, default auto. Throws UsageError, UserError if there is no such device.
c10::Device read_device(const Arguments& arguments);

/// `--threads N`, nullopt if not given.
std::optional<int64_t> read_threads(const Arguments& arguments);

/// Declares `--threads`, `--precision`, `--int8` and `--device`, shared by the inference commands.
void declare_inference(Arguments& arguments);

/// Throws UsageError, UserError if there is no such device.
models::InferenceOptions read_inference(const Arguments& arguments);

}  // namespace weft::cli
