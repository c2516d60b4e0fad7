#pragma once

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

/// The keys `drop_path_rate`, `drop_path_schedule` and `layerdrop`, in `model:` and in config.json,
/// where other programs ignore them.
namespace weft::models {

/// Reads them after those of the layers. Throws config::Error.
void read_stochastic_depth(config::Section& model, ModelOptions& options);

/// Absent keys leave the options. Throws formats::Error.
void read_stochastic_depth(const JsonFields& fields, ModelOptions& options);

/// Only what differs from the defaults.
void write_stochastic_depth(formats::Json& json, const ModelOptions& options);

}  // namespace weft::models
