#pragma once

#include "metrics/predictions.h"

namespace weft::metrics {

/// Mean recall over the classes that occur among the labels, as in scikit-learn; 0 without rows.
double balanced_accuracy(const ClassPredictions& predictions);

}  // namespace weft::metrics
