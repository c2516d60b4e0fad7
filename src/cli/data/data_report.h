#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/text/statistics.h"

namespace weft::cli {

/// A heading, a line of numbers and a bar for each power of two.
std::string show_lengths(const std::string& what, const data::LengthCounts& lengths);

/// Documents, sentences, tokens, repeated sentences; with `knows_unknown` also the fraction of
/// unknown tokens.
std::string show_store(const data::StoreStatistics& statistics, bool knows_unknown);

/// Sequences, their tokens, targets and classes.
std::string show_dataset(const data::DatasetStatistics& statistics,
                         int64_t size,
                         const std::vector<std::string>& labels);

}  // namespace weft::cli
