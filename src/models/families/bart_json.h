#pragma once

#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

namespace weft::models {

/// config.json of BART, mBART and Marian, whose config classes have the same keys.
void read_bart_json(const JsonFields& fields, ModelOptions& options);
void write_bart_json(formats::Json& json, const ModelOptions& options);

}  // namespace weft::models
