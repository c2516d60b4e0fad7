#pragma once

#include <string>

namespace weft::cli {

/// Writes only the adapter of a checkpoint, in PEFT's layout: adapter_model.safetensors and
/// adapter_config.json. Throws UserError if the checkpoint is not from a run with adapters.
void export_adapter(const std::string& checkpoint, const std::string& output);

}  // namespace weft::cli
