#pragma once

#include "models/config/family_definition.h"

namespace weft::models {

/// GPT-2 (Radford et al., Language Models are Unsupervised Multitask Learners, 2019).
const FamilyDefinition& gpt2();

}  // namespace weft::models
