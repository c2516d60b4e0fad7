#pragma once

#include <vector>

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"
#include "nn/position/position.h"

/// What the versions of DeBERTa share.
namespace weft::models::deberta_family {

/// Scores of contents and distances, learned position embeddings, both, or none.
std::vector<nn::PositionChoice> positions(const ModelOptions& options);

/// Reads the keys of `model.position` that belong to no type. Throws config::Error.
void read_position(config::Section& section, ModelOptions& options, const ModelOptions* base);

/// Reads the keys of config.json that all versions have beside BERT's: distances have no buckets,
/// no norm, and projections of their own. Throws formats::Error for what is not supported.
void read_json(const JsonFields& fields, ModelOptions& options);
void write_json(formats::Json& json, const ModelOptions& options);

}  // namespace weft::models::deberta_family
