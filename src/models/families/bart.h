#pragma once

#include "models/config/family_definition.h"

namespace weft::models {

/// BART (arXiv:1910.13461).
const FamilyDefinition& bart();

/// mBART (arXiv:2001.08210): pre-norm, with a final norm after each stack.
const FamilyDefinition& mbart();

/// Marian's translation models (arXiv:1804.00344), with sinusoidal positions.
const FamilyDefinition& marian();

/// The original Transformer (arXiv:1706.03762). Stored as a Marian model, whose class in
/// transformers computes the same. (Its sinusoids have all sines first, the paper's alternate: only
/// the order of the features differs.)
const FamilyDefinition& transformer();

}  // namespace weft::models
