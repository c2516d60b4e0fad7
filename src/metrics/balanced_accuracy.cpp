#include "metrics/balanced_accuracy.h"

#include "metrics/metrics.h"

namespace weft::metrics {

double balanced_accuracy(const ClassPredictions& predictions) {
  double sum = 0;
  double classes = 0;
  for (int64_t name = 0; name < predictions.classes; ++name) {
    if (predictions.counts.support(name) > 0) {
      sum += predictions.counts.class_scores(name).recall;
      classes += 1;
    }
  }
  return safe_divide(sum, classes);
}

}  // namespace weft::metrics
