#pragma once

#include <string>

#include "formats/json.h"
#include "formats/safetensors.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

namespace weft::models {

/// Converts a parsed config.json to options; `place` names the file in errors. Absent keys have the
/// defaults of the config classes of transformers. Throws formats::Error.
ModelOptions options_from_json(const formats::Json& json, const std::string& place);

/// Returns config.json as transformers writes it. `dtype` is that of the weights.
formats::Json json_from_options(const ModelOptions& options, formats::DType dtype);

/// Prefix-LM settings of a causal model. The keys are specific to Weft; other programs ignore them.
void read_prompt(const JsonFields& fields, ModelOptions& options);
void write_prompt(formats::Json& json, const ModelOptions& options);

}  // namespace weft::models
