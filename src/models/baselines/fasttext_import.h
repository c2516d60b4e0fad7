#pragma once

#include <memory>

#include "formats/fasttext_file.h"
#include "models/baselines/fasttext.h"

namespace weft::models {

/// The model of a fastText file, with its class names. A hierarchical softmax gets fastText's own
/// tree; one-vs-all and negative sampling become independent classes (`multi_label`).
std::shared_ptr<FastText> fasttext_model(const formats::FastTextFile& file);

}  // namespace weft::models
