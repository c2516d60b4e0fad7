#pragma once

#include <string>

#include "config/section.h"
#include "formats/json.h"
#include "models/config/options.h"

/// `document` in `model:` and, with the layer types, in config.json.
namespace weft::models {

/// Reads the section of an encoder, after all other keys of its layers. Throws config::Error.
void read_document(config::Section& model, ModelOptions& options, const ModelOptions* base);

/// An absent key leaves the options. Throws formats::Error; UserError, naming `place`, for types
/// that this program does not have.
void read_document(const formats::Json& json, const std::string& place, ModelOptions& options);
void write_document(formats::Json& json, const ModelOptions& options);

}  // namespace weft::models
