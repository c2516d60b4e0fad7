#pragma once

#include <string>

#include "models/config/family_definition.h"
#include "models/weights/stored_builder.h"

/// What the families share whose stacks read from left to right: GPT-2, Llama and their kin.
namespace weft::models {

/// Heads under the names that most have for them, and one normal for all matrices; defaults,
/// presets, keys, config.json and tensors are the family's own.
FamilyDefinition causal_definition(const FamilyFacts& facts);

/// Tensors of the head under the family's names of the output matrix and of the classifier of
/// tokens.
void add_causal_head(StoredBuilder& builder,
                     const ModelOptions& options,
                     const std::string& output,
                     const std::string& token);

}  // namespace weft::models
