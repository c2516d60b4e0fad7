#pragma once

#include <optional>
#include <string>

#include "models/adapters/lora.h"
#include "models/directory.h"
#include "train/run/run_config.h"

namespace weft::train {

/// Where a checkpoint of a run with adapters keeps them, in PEFT's layout.
inline constexpr auto kAdapter = "adapter";

/// Puts the config's adapters into a model just loaded, and says so in the log. From a checkpoint,
/// whose weights are merged, the frozen weights and the adapters are brought back to the bit.
/// Nothing where the config has none. Throws UserError.
std::optional<models::Lora> prepare_lora(const RunConfig& config,
                                         const models::LoadedModel& loaded,
                                         const std::optional<std::string>& checkpoint);

/// The parts of a checkpoint that adapters add: `adapter/`, and in `training/` what merged weights
/// do not tell.
void write_lora(const std::string& checkpoint,
                const models::ModelOptions& model,
                const models::Lora& lora,
                const models::ParameterSource& source);

}  // namespace weft::train
