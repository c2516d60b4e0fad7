#pragma once

#include <cstdint>
#include <string>

#include "train/step/evaluate_directory.h"

namespace weft::cli {

/// Writes the `count` examples with the highest loss as JSON lines, worst first: source location,
/// texts, label, prediction, scores, loss; for a tagger location, words, for each word its tag, the
/// prediction and its score, and the sum of the words' losses. The file is written atomically.
void write_hardest_examples(const std::string& path,
                            const train::DirectoryEvaluation& done,
                            int64_t count);

}  // namespace weft::cli
