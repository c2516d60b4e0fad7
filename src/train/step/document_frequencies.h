#pragma once

#include "data/dataset.h"
#include "models/model.h"

namespace weft::train {

/// Fits the idf weights of a tf-idf bag-of-words model to the training texts: 1 + ln((1 + texts) /
/// (1 + texts that contain the feature)), smoothed as in scikit-learn. No-op for other models.
void fit_document_frequencies(models::Model& model, const data::Dataset& texts);

}  // namespace weft::train
