#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/config/family_definition.h"

namespace weft::models {

/// A linear classifier of word counts.
const FamilyDefinition& bag_of_words();

/// Decomposable attention over two texts (arXiv:1606.01933).
const FamilyDefinition& decomposable_attention();

/// Families that are no transformers and answer for whole sequences only.
bool is_baseline(Family family);

/// A baseline's sizes in words, for people.
std::vector<std::pair<std::string, std::string>> baseline_facts(const ModelOptions& options);

/// Rows of the table of a bag of words: one for each word, then the buckets.
int64_t bag_rows(const ModelOptions& options);

}  // namespace weft::models
