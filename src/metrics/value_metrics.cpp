#include <cmath>
#include <cstddef>

#include "metrics/metrics.h"
#include "metrics/predictions.h"

namespace weft::metrics {

namespace {

template <class Penalty>
double mean_penalty(const ValuePredictions& predictions, const Penalty& penalty) {
  double sum = 0;
  for (std::size_t row = 0; row < predictions.targets.size(); ++row) {
    sum += penalty(predictions.targets[row] - predictions.predictions[row]);
  }
  return safe_divide(sum, static_cast<double>(predictions.targets.size()));
}

}  // namespace

double mean_squared_error(const ValuePredictions& predictions) {
  return mean_penalty(predictions, [](double gap) { return gap * gap; });
}

double mean_absolute_error(const ValuePredictions& predictions) {
  return mean_penalty(predictions, [](double gap) { return std::abs(gap); });
}

double value_pearson(const ValuePredictions& predictions) {
  return pearson(predictions.predictions, predictions.targets);
}

double value_spearman(const ValuePredictions& predictions) {
  return spearman(predictions.predictions, predictions.targets);
}

}  // namespace weft::metrics
