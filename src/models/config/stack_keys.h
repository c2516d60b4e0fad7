#pragma once

#include <string>

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

/// Keys of `model:` about the layers as a whole, in a config and in config.json.
namespace weft::models {

// The keys of `residual`: how the outputs of sub-layers are added to their inputs.

void read_residual(config::Section& model, LayerTypes& types);
/// Throws config::Error if the layers cannot have these connections; to be called when all is read.
void check_residual(config::Section& model, const ModelOptions& options);

void read_residual(const JsonFields& fields, LayerTypes& types);
void write_residual(formats::Json& json, const LayerTypes& types);

// The keys of `residual.gate`: which tokens skip a sub-layer.

void read_gate(config::Section& residual, LayerTypes& types);
/// Throws config::Error if the layers cannot have gates; to be called when all is read.
void check_gate(config::Section& model, const ModelOptions& options);

void read_gate(const JsonFields& fields, LayerTypes& types);
void write_gate(formats::Json& json, const LayerTypes& types);

// The section `mix`: which layers the head, or the layers of a decoder, read.

/// Reads it after those of the layers. Throws config::Error.
void read_layer_mix(config::Section& model, LayerTypes& types);

/// The same among the layer types of config.json: absent is none. Throws formats::Error.
void read_layer_mix(const JsonFields& fields, LayerTypes& types);
void write_layer_mix(formats::Json& json, const LayerTypes& types);

// The keys `halting` and `step_embedding`: how many layers a token needs.

/// Reads them after those of the layers. Throws config::Error.
void read_halting(config::Section& model, ModelOptions& options);

/// The same keys among the layer types of config.json: absent ones are none. Throws formats::Error.
void read_halting(const JsonFields& fields, LayerTypes& types);
void write_halting(formats::Json& json, const LayerTypes& types);

// The keys `drop_path_rate`, `drop_path_schedule` and `layerdrop`, which other programs ignore in
// config.json.

/// Reads them after those of the layers. Throws config::Error.
void read_stochastic_depth(config::Section& model, ModelOptions& options);

/// Absent keys leave the options. Throws formats::Error.
void read_stochastic_depth(const JsonFields& fields, ModelOptions& options);

/// Only what differs from the defaults.
void write_stochastic_depth(formats::Json& json, const ModelOptions& options);

// The section `early_exit`, which other programs ignore in config.json.

/// Reads the section of an encoder. Throws config::Error.
void read_early_exit(config::Section& model, ModelOptions& options);

/// Replaces the rule of a trained model by one written as in a config, such as
/// `{type: entropy, threshold: 0.2}`; "": keeps it. `place` is for messages. Throws config::Error,
/// UserError if the model has no early exits.
void replace_exit_rule(const std::string& yaml, const std::string& place, ModelOptions& options);

/// An absent key leaves the options. Throws formats::Error.
void read_early_exit(const JsonFields& fields, ModelOptions& options);
void write_early_exit(formats::Json& json, const ModelOptions& options);

// `document` in `model:` and, with the layer types, in config.json.

/// Reads the section of an encoder, after all other keys of its layers. Throws config::Error.
void read_document(config::Section& model, ModelOptions& options, const ModelOptions* base);

/// An absent key leaves the options. Throws formats::Error; UserError, naming `place`, for types
/// that this program does not have.
void read_document(const formats::Json& json, const std::string& place, ModelOptions& options);
void write_document(formats::Json& json, const ModelOptions& options);

}  // namespace weft::models
