#pragma once

#include "metrics/predictions.h"

/// Metrics of regression.
namespace weft::metrics {

/// 0 without rows.
double mean_squared_error(const ValuePredictions& predictions);
double mean_absolute_error(const ValuePredictions& predictions);
/// NaN if either side is constant or there are fewer than two rows.
double value_pearson(const ValuePredictions& predictions);
double value_spearman(const ValuePredictions& predictions);

}  // namespace weft::metrics
