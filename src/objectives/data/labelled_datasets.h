#pragma once

#include "data/label_form.h"
#include "objectives/data/datasets.h"

namespace weft::objectives {

/// Rows of texts with classes or numbers; with folds, the training files are also what is evaluated
/// on. Warns of evaluation texts that nearly are training texts.
Datasets labelled_datasets(const DatasetInputs& inputs, const data::LabelFormat& label_format);

}  // namespace weft::objectives
