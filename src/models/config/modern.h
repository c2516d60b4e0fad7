#pragma once

#include <cstdint>
#include <string>

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

/// ModernBERT (arXiv:2412.13663).
namespace weft::models {

inline bool is_modern(Family family) { return family == Family::kModernBert; }

/// Sizes and rates of the published base model.
ModelOptions modern_defaults();

/// Whether a layer sees whole sequences; else a window.
bool sees_all(const ModelOptions& options, int64_t layer);

/// Whether a model has the parameter that the name map lists: some lack biases, or the first norm.
bool has_parameter(const ModelOptions& options, const std::string& parameter);

/// Of the normal that initialises a matrix: those whose results enter the stream begin smaller the
/// more layers there are.
double modern_deviation(const ModelOptions& options, const std::string& parameter);

/// Its keys in the parts of `model:`. `base`: what init_from brings. Describing: all of them.
/// Throws config::Error.
void read_modern(config::Section& section, ModelOptions& options);
void read_modern_attention(config::Section& section,
                           ModelOptions& options,
                           const ModelOptions* base);
void read_modern_position(config::Section& section,
                          ModelOptions& options,
                          const ModelOptions* base);
void read_modern_feed_forward(config::Section& section,
                              ModelOptions& options,
                              const ModelOptions* base);
void read_modern_norm(config::Section& section, ModelOptions& options, const ModelOptions* base);

/// Its keys in config.json, of transformers 4.48 and later.
void read_modern(const JsonFields& fields, ModelOptions& options);
void write_modern(formats::Json& json, const ModelOptions& options);

}  // namespace weft::models
