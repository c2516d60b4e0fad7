#pragma once

#include <cstdint>
#include <string>

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/layer_type_keys.h"
#include "models/config/options.h"

/// ModernBERT (arXiv:2412.13663).
namespace weft::models {

inline bool is_modernbert(Family family) { return family == Family::kModernBert; }

/// Sizes and dropout rates of the published base model.
ModelOptions modernbert_defaults();

/// Whether a layer attends to whole sequences rather than a window.
bool is_global_attention_layer(const ModelOptions& options, int64_t layer);

/// Whether a model has a parameter listed in the weight map: some lack biases or the first norm.
bool has_parameter(const ModelOptions& options, const std::string& parameter);

/// Initial standard deviation of a matrix: for matrices that write to the residual stream it
/// decreases with the number of layers.
double modernbert_init_std(const ModelOptions& options, const std::string& parameter);

/// Reads its keys in the sub-sections of `model:`. `base`: the init_from model. Documentation mode:
/// all of them. Throws config::Error.
void read_modernbert(config::Section& section, ModelOptions& options);
void read_modernbert_attention(LayerPartSection& part,
                               ModelOptions& options,
                               const ModelOptions* base);
void read_modernbert_position(config::Section& section,
                              ModelOptions& options,
                              const ModelOptions* base);
void read_modernbert_feed_forward(config::Section& section,
                                  ModelOptions& options,
                                  const ModelOptions* base);
void read_modernbert_norm(config::Section& section,
                          ModelOptions& options,
                          const ModelOptions* base);

/// Reads and writes its keys in config.json, of transformers 4.48 and later.
void read_modernbert(const JsonFields& fields, ModelOptions& options);
void write_modernbert(formats::Json& json, const ModelOptions& options);

}  // namespace weft::models
