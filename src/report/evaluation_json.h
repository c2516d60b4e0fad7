#pragma once

#include <cstdint>
#include <vector>

#include "formats/json.h"
#include "train/step/evaluate_directory.h"

namespace weft::report {

/// The metrics of an evaluation as one object: `eval_loss`, ..., for classifiers `per_class` and
/// `confusion_matrix`; `undefined` says why a metric has no value. Numbers have at most 12
/// significant digits, so that 0.45 is not 0.44999999999999984.
formats::Json evaluation_json(const train::DirectoryEvaluation& done);

/// JSON whose numbers have at most 12 significant digits.
formats::Json rounded(formats::Json value);

/// The `count` examples with the highest loss, worst first: source location, texts, label,
/// prediction, scores, loss; of a tagger location, words, for each word its tag, the prediction and
/// its score, and the sum of the words' losses. Empty if the objective does not score examples.
std::vector<formats::Json> hardest_examples(const train::DirectoryEvaluation& done, int64_t count);

}  // namespace weft::report
