#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "cli/command.h"
#include "models/inference.h"

namespace weft::cli {

/// `--device auto|cpu|cuda`, default auto. Throws UsageError, UserError if there is no such device.
c10::Device read_device(const Arguments& arguments);

/// The layers of a list such as `0,2,last`, `0-3,8` or `all`, in increasing order; empty if the
/// option is not given. Throws UsageError for layers that a model of `layers` layers does not have.
std::vector<int64_t> read_layers(const Arguments& arguments,
                                 const std::string& option,
                                 int64_t layers);

/// `--threads N`, nullopt if not given.
std::optional<int64_t> read_threads(const Arguments& arguments);

/// Declares `--batch-tokens N` in the current group.
void declare_batch_tokens(Arguments& arguments);

/// Nullopt if not given: as many as batching::run_batches chooses.
std::optional<int64_t> read_batch_tokens(const Arguments& arguments);

/// Declares `--early-exit`, for models::replace_exit_rule.
void declare_early_exit(Arguments& arguments);

/// Declares `--threads`, `--precision`, `--int8` and `--device`, shared by the inference commands.
void declare_inference(Arguments& arguments);

/// Throws UsageError, UserError if there is no such device.
models::InferenceOptions read_inference(const Arguments& arguments);

}  // namespace weft::cli
