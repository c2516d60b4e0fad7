#pragma once

#include <cstdint>

#include "models/config/family_definition.h"

namespace weft::models {

/// A linear classifier of word counts.
const FamilyDefinition& bag_of_words();

/// Decomposable attention over two texts (arXiv:1606.01933).
const FamilyDefinition& decomposable_attention();

/// Rows of the table of a bag of words: one per word, then the buckets.
int64_t bag_rows(const ModelOptions& options);

}  // namespace weft::models
