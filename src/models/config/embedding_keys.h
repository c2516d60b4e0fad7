#pragma once

#include "config/section.h"
#include "models/config/options.h"

/// Keys of `model:` about word embeddings, and whether the output has the same weights.
namespace weft::models {

/// Reads the section `embedding`. `base`: the init_from model, which must have the same. Throws
/// config::Error.
void read_embedding_type(config::Section& model, ModelOptions& options, const ModelOptions* base);

/// Reads `tie_word_embeddings`, if the family has this key, and checks whether the output can be
/// tied to the word embeddings, or left untied, as the options say. Throws config::Error.
void read_ties(config::Section& model,
               ModelOptions& options,
               const ModelOptions* base,
               bool has_key = true);

}  // namespace weft::models
