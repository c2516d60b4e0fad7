#pragma once

#include "models/config/family_definition.h"

namespace weft::models {

/// BART (arXiv:1910.13461).
const FamilyDefinition& bart();

/// mBART (arXiv:2001.08210): norms before the sub-layers, and one behind each stack.
const FamilyDefinition& mbart();

/// Marian's translation models (arXiv:1804.00344): positions are sinusoids.
const FamilyDefinition& marian();

/// The Transformer of 2017 (arXiv:1706.03762). Stored as a Marian model: transformers' class of
/// that name computes the same. (Its sinusoids stand sines first; the paper's, in turn. That is
/// another order of the features.)
const FamilyDefinition& transformer();

}  // namespace weft::models
