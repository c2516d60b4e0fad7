#pragma once

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

/// The keys `halting` and `step_embedding`: how many layers a token needs.
namespace weft::models {

/// Reads them after those of the layers. Throws config::Error.
void read_halting(config::Section& model, ModelOptions& options);

/// The same keys among the layer types of config.json: absent ones are none. Throws formats::Error.
void read_halting(const JsonFields& fields, LayerTypes& types);
void write_halting(formats::Json& json, const LayerTypes& types);

}  // namespace weft::models
