#pragma once

#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

namespace weft::models {

/// Reads and writes class names and problem type of config.json. Heads that do not classify have
/// neither.
void read_labels(const JsonFields& fields, ModelOptions& options);
void write_labels(formats::Json& json, const ModelOptions& options);

}  // namespace weft::models
