#pragma once

#include "models/config/family_definition.h"

namespace weft::models {

/// The vision transformer (arXiv:2010.11929).
const FamilyDefinition& vit();

}  // namespace weft::models
