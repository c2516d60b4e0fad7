#pragma once

#include <string>

#include "models/config/family_definition.h"
#include "models/weights/weight_map_builder.h"

/// Shared parts of the decoder-only families: GPT-2, Llama and similar ones.
namespace weft::models {

/// Sets the usual head names and one normal initializer for all matrices; defaults, presets, keys,
/// config.json and tensors are set by the family.
FamilyDefinition causal_definition(const HfNames& hf_names);

/// Adds the tensors of the head, under the family's names of the output matrix and of the token
/// classifier.
void add_causal_head(WeightMapBuilder& builder,
                     const ModelOptions& options,
                     const std::string& output,
                     const std::string& token);

}  // namespace weft::models
