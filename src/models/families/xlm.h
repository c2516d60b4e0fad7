#pragma once

#include "models/config/family_definition.h"

namespace weft::models {

/// XLM (arXiv:1901.07291): an encoder with language embeddings.
const FamilyDefinition& xlm();

}  // namespace weft::models
