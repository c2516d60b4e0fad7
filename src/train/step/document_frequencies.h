#pragma once

#include "data/dataset.h"
#include "models/model.h"

namespace weft::train {

/// Sets the weights of a tf-idf bag of words from the training texts: 1 + ln((1 + texts) / (1 +
/// texts that have the feature)), as scikit-learn smooths them. Other models are left alone.
void fit_document_frequencies(models::Model& model, const data::Dataset& texts);

}  // namespace weft::train
