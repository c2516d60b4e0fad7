#include "objectives/evaluation/class_evaluation.h"

#include <algorithm>
#include <utility>

#include "metrics/metric.h"
#include "metrics/ranking_metrics.h"
#include "objectives/evaluation/eval_prediction.h"

namespace weft::objectives {

namespace {

using formats::Json;

constexpr int64_t kLargestMatrix = 1000;  // classes; no confusion matrix is reported for more

struct ScoredClasses {
  std::vector<EvalPrediction> rows;
  metrics::ClassPredictions predictions;
  double threshold = 0.5;
};

/// The most likely class or, with two classes and a threshold, the second from the threshold on.
int64_t choice(const std::vector<double>& probabilities, const std::optional<double>& threshold) {
  if (threshold && probabilities.size() == 2) {
    return probabilities[1] >= *threshold ? 1 : 0;
  }
  return std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin();
}

class ClassEvaluation : public PredictionEvaluation {
 public:
  explicit ClassEvaluation(ClassOptions options)
      : PredictionEvaluation("classes"), options_(std::move(options)) {}

  std::map<std::string, double> result() const override {
    const auto scored = score_examples();
    auto metrics = metrics::compute_metrics(scored.predictions);
    if (options_.tune_threshold && outputs() == 2) {
      metrics["threshold"] = scored.threshold;
    }
    return metrics::with_eval_prefix(metrics);
  }

  Json details() const override {
    const auto scored = score_examples().predictions;
    Json details = {{"labels", labels()}, {"per_class", Json::object()}};
    for (int64_t id = 0; id < scored.classes; ++id) {
      details["per_class"][label_name(id)] =
          metrics::score_json(scored.counts.class_scores(id), scored.counts.support(id));
    }
    if (scored.classes <= kLargestMatrix) {
      std::vector<std::vector<int64_t>> matrix(
          static_cast<std::size_t>(scored.classes),
          std::vector<int64_t>(static_cast<std::size_t>(scored.classes)));
      for (std::size_t i = 0; i < scored.labels.size(); ++i) {
        ++matrix[static_cast<std::size_t>(scored.labels[i])]
                [static_cast<std::size_t>(scored.predictions[i])];
      }
      details["confusion_matrix"] = matrix;  // rows: labels, columns: predictions
    }
    return details;
  }

  std::optional<std::vector<ExampleResult>> hardest_examples(int64_t limit) const override {
    const auto scored = score_examples();
    return hardest_examples_of(scored.rows, scored.predictions.losses, limit,
                               [&](std::size_t row) { return fields_of(scored.predictions, row); });
  }

 private:
  ScoredClasses score_examples() const {
    ScoredClasses scored{.rows = rows(), .predictions = metrics::ClassPredictions(outputs())};
    auto& predictions = scored.predictions;
    for (auto& row : scored.rows) {
      predictions.labels.push_back(row.label);
      predictions.probabilities.push_back(softmax_of(row.outputs));
      predictions.losses.push_back(cross_entropy_of(row.outputs, row.label));
      predictions.logits.push_back(std::move(row.outputs));
    }
    auto threshold = options_.threshold;
    if (options_.tune_threshold && outputs() == 2) {
      threshold = metrics::best_threshold(predictions.is_label(1), predictions.scores(1),
                                          *options_.tune_threshold);
    }
    scored.threshold = threshold.value_or(0.5);
    for (std::size_t i = 0; i < predictions.labels.size(); ++i) {
      predictions.predictions.push_back(choice(predictions.probabilities[i], threshold));
      predictions.counts.add(predictions.labels[i], predictions.predictions[i]);
    }
    return scored;
  }

  Json fields_of(const metrics::ClassPredictions& scored, std::size_t row) const {
    const auto& probabilities = scored.probabilities[row];
    const auto label = scored.labels[row];
    const auto predicted = scored.predictions[row];
    Json fields = {{"label", label_name(label)},
                   {"prediction", label_name(predicted)},
                   {"is_right", label == predicted},
                   {"score", probabilities[static_cast<std::size_t>(predicted)]},
                   {"scores", Json::object()}};
    for (int64_t id = 0; id < scored.classes; ++id) {
      fields["scores"][label_name(id)] = probabilities[static_cast<std::size_t>(id)];
    }
    return fields;
  }

  ClassOptions options_;
};

}  // namespace

std::unique_ptr<Evaluation> make_class_evaluation(const ClassOptions& options) {
  return std::make_unique<ClassEvaluation>(options);
}

}  // namespace weft::objectives
