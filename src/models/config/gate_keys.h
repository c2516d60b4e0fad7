#pragma once

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

/// The keys of `residual.gate`, which tokens skip a sub-layer, in a config and in config.json.
namespace weft::models {

void read_gate(config::Section& residual, LayerTypes& types);
/// Throws config::Error if the layers cannot have gates; to be called when all is read.
void check_gate(config::Section& model, const ModelOptions& options);

void read_gate(const JsonFields& fields, LayerTypes& types);
void write_gate(formats::Json& json, const LayerTypes& types);

}  // namespace weft::models
