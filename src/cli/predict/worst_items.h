#pragma once

#include <cstdint>
#include <string>

#include "train/step/evaluate_directory.h"

namespace weft::cli {

/// Writes the `most` items of greatest loss as JSON lines, worst first: place, texts, label,
/// prediction, scores, loss; of a tagger place, words, and for each word its tag, the prediction
/// and that one's score, and the sum of the words' losses. The file appears whole.
void write_worst(const std::string& path, const train::DirectoryEvaluation& done, int64_t most);

}  // namespace weft::cli
