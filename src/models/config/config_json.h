#pragma once

#include <string>

#include "formats/json.h"
#include "formats/safetensors.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

namespace weft::models {

/// The options that a parsed config.json stands for; `place` names the file in errors. Absent keys
/// have the defaults of the config classes of transformers. Throws formats::Error.
ModelOptions options_from_json(const formats::Json& json, const std::string& place);

/// config.json as transformers writes it. `dtype` is that of the weights beside it.
formats::Json json_from_options(const ModelOptions& options, formats::DType dtype);

/// How the model was trained to see prompts, of causal ones: keys of this program alone, which
/// others pass over.
void read_prompt(const JsonFields& fields, ModelOptions& options);
void write_prompt(formats::Json& json, const ModelOptions& options);

}  // namespace weft::models
