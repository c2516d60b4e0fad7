#pragma once

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/layer_types.h"

/// The section `mix`: which layers the head, or the layers of a decoder, read.
namespace weft::models {

/// Reads it after those of the layers. Throws config::Error.
void read_layer_mix(config::Section& model, LayerTypes& types);

/// The same among the layer types of config.json: absent is none. Throws formats::Error.
void read_layer_mix(const JsonFields& fields, LayerTypes& types);
void write_layer_mix(formats::Json& json, const LayerTypes& types);

}  // namespace weft::models
