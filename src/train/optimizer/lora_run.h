#pragma once

#include <optional>
#include <string>

#include "models/adapters/lora.h"
#include "models/directory.h"
#include "train/run/run_config.h"

namespace weft::train {

/// Subdirectory of a checkpoint for the adapters, in PEFT's layout.
inline constexpr auto kAdapter = "adapter";

/// Adds the configured adapters to a freshly loaded model and logs it. When resuming from a
/// checkpoint, whose weights are merged, restores the frozen weights and the adapters bit for bit.
/// Returns nullopt if the config has no adapters. Throws UserError.
std::optional<models::Lora> prepare_lora(const RunConfig& config,
                                         const models::LoadedModel& loaded,
                                         const std::optional<std::string>& checkpoint);

/// Writes the LoRA part of a checkpoint: `adapter/`, and in `training/` what cannot be recovered
/// from merged weights.
void write_lora(const std::string& checkpoint,
                const models::ModelOptions& model,
                const models::Lora& lora,
                const models::ParameterSource& source);

}  // namespace weft::train
