// The program `weft` with a metric of our own, Cohen's kappa of labels and predicted classes
// (Cohen, 1960), as sklearn.metrics.cohen_kappa_score: (p_o - p_e) / (1 - p_e) with the observed
// agreement p_o and that expected by chance p_e. Every evaluation of a classifier reports it, and
// it can choose the best checkpoint:
//
//   train:
//     best_by: eval_cohen_kappa
#include "metrics/metric.h"

#include <cstdint>
#include <optional>

#include "cli/run.h"

namespace {

/// nullopt where it is not defined: without rows, or if all have the same class.
std::optional<double> cohen_kappa(const weft::metrics::ClassPredictions& predictions) {
  const auto rows = static_cast<double>(predictions.labels.size());
  if (rows == 0) {
    return std::nullopt;
  }
  double observed = 0;
  double expected = 0;
  for (int64_t name = 0; name < predictions.classes; ++name) {
    const auto& counts = predictions.counts;
    observed += counts.true_positives(name) / rows;
    expected += counts.support(name) / rows * (counts.predicted(name) / rows);
  }
  if (expected == 1) {
    return std::nullopt;
  }
  return (observed - expected) / (1 - expected);
}

}  // namespace

int main(int argc, char** argv) {
  weft::metrics::register_metric({.name = "cohen_kappa",
                                  .description = "Cohen's kappa of labels and predictions",
                                  .of_classes = cohen_kappa});
  return weft::run(argc, argv);
}
