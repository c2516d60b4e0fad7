#pragma once

#include "models/config/family_definition.h"

namespace weft::models {

/// T5 (arXiv:1910.10683) and its version 1.1, whose feed-forward is gated, whose output matrix is
/// its own and whose states are not scaled before it.
const FamilyDefinition& t5();

/// mT5 (arXiv:2010.11934): version 1.1 in many languages.
const FamilyDefinition& mt5();

}  // namespace weft::models
