#pragma once

#include "models/config/family_definition.h"

namespace weft::models {

/// XLM (arXiv:1901.07291): an encoder that is told the language of each token.
const FamilyDefinition& xlm();

}  // namespace weft::models
