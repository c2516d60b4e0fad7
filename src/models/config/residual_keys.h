#pragma once

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

/// The keys of `residual`, how the outputs of sub-layers are added to their inputs, in a config and
/// in config.json.
namespace weft::models {

void read_residual(config::Section& model, LayerTypes& types);
/// Throws config::Error if the layers cannot have these connections; to be called when all is read.
void check_residual(config::Section& model, const ModelOptions& options);

void read_residual(const JsonFields& fields, LayerTypes& types);
void write_residual(formats::Json& json, const LayerTypes& types);

}  // namespace weft::models
