#pragma once

#include "models/config/family_definition.h"

namespace weft::models {

/// The data-efficient vision transformer with its distillation token (arXiv:2012.12877).
const FamilyDefinition& deit();

}  // namespace weft::models
