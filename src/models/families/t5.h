#pragma once

#include "models/config/family_definition.h"

namespace weft::models {

/// T5 (arXiv:1910.10683) and its version 1.1, with a gated feed-forward, an untied output matrix
/// and unscaled decoder outputs.
const FamilyDefinition& t5();

/// mT5 (arXiv:2010.11934): multilingual version 1.1.
const FamilyDefinition& mt5();

}  // namespace weft::models
