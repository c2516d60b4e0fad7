#pragma once

#include "models/config/family_definition.h"

namespace weft::models {

/// Llama (arXiv:2302.13971) and families that differ in details only: Mistral (arXiv:2310.06825)
/// has a window, Qwen2 (arXiv:2407.10671) biases of queries, keys and values.
const FamilyDefinition& llama();
const FamilyDefinition& mistral();
const FamilyDefinition& qwen2();

}  // namespace weft::models
