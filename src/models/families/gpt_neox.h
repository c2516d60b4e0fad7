#pragma once

#include "models/config/family_definition.h"

namespace weft::models {

/// GPT-NeoX (arXiv:2204.06745) and Pythia (arXiv:2304.01373).
const FamilyDefinition& gpt_neox();

}  // namespace weft::models
