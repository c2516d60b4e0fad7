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

/// Reads and writes class names and problem type of config.json. Heads that do not classify have
/// neither.
void read_labels(const JsonFields& fields, ModelOptions& options);
void write_labels(formats::Json& json, const ModelOptions& options);

/// config.json of trimmed directories, with missing details of the head inferred from the tensors:
/// architectures, number of labels. Whatever cannot be inferred stays absent.
formats::Json with_inferred_head(formats::Json json, const std::string& directory);

/// The same for old directories that do not name their family: model_type is inferred from the
/// class, else from the tensors' names. Only `weft import` may guess.
formats::Json with_inferred_family_and_head(formats::Json json, const std::string& directory);

}  // namespace weft::models
