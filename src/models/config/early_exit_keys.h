#pragma once

#include <string>

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

/// `early_exit` in `model:` and in config.json, where other programs ignore it.
namespace weft::models {

/// Reads the section of an encoder. Throws config::Error.
void read_early_exit(config::Section& model, ModelOptions& options);

/// Replaces the rule of a trained model by one written as in a config, such as
/// `{type: entropy, threshold: 0.2}`; "": keeps it. `place` is for messages. Throws config::Error,
/// UserError if the model has no early exits.
void replace_exit_rule(const std::string& yaml, const std::string& place, ModelOptions& options);

/// An absent key leaves the options. Throws formats::Error.
void read_early_exit(const JsonFields& fields, ModelOptions& options);
void write_early_exit(formats::Json& json, const ModelOptions& options);

}  // namespace weft::models
