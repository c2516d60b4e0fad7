#pragma once

#include "models/config/family_definition.h"

/// BERT-like encoders.
namespace weft::models {

/// arXiv:1810.04805
const FamilyDefinition& bert();
/// arXiv:1907.11692
const FamilyDefinition& roberta();
/// arXiv:1911.02116
const FamilyDefinition& xlm_roberta();
/// arXiv:1910.01108
const FamilyDefinition& distilbert();
/// arXiv:2003.10555
const FamilyDefinition& electra();
/// arXiv:2412.13663
const FamilyDefinition& modernbert();

}  // namespace weft::models
