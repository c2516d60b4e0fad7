#include "objectives/evaluation/class_evaluation.h"

#include <cmath>
#include <utility>

#include "metrics/metric.h"
#include "metrics/ranking_metrics.h"
#include "objectives/evaluation/decision_threshold.h"
#include "objectives/evaluation/eval_prediction.h"

namespace weft::objectives {

namespace {

using formats::Json;

constexpr int64_t kLargestMatrix = 1000;  // classes; no confusion matrix is reported for more

template <class Predictions>
struct Scored {
  std::vector<EvalPrediction> rows;
  Predictions predictions;
  double threshold = 0.5;
};

/// What one class and any number of classes have in common.
template <class Predictions>
class ClassificationEvaluation : public PredictionEvaluation {
 public:
  ClassificationEvaluation(std::string kind, ClassOptions options)
      : PredictionEvaluation(std::move(kind)), options_(std::move(options)) {}

  std::map<std::string, double> result() const override {
    const auto scored = score_examples();
    auto metrics = metrics::compute_metrics(scored.predictions);
    if (tuned_by()) {
      metrics["threshold"] = scored.threshold;
    }
    add_layers(scored.rows, metrics);
    return metrics::with_eval_prefix(metrics);
  }

  std::optional<std::vector<ExampleResult>> hardest_examples(int64_t limit) const override {
    const auto scored = score_examples();
    return hardest_examples_of(scored.rows, scored.predictions.losses, limit,
                               [&](std::size_t row) { return fields_of(scored.predictions, row); });
  }

 protected:
  virtual Scored<Predictions> score_examples() const = 0;
  virtual Json fields_of(const Predictions& scored, std::size_t row) const = 0;
  /// The metric that the threshold maximises; nullopt if it is given.
  virtual std::optional<metrics::ThresholdMetric> tuned_by() const {
    return options_.tune_threshold;
  }
  std::optional<double> threshold() const { return options_.threshold; }
  const std::string& positive_label() const { return options_.positive_label; }

 private:
  ClassOptions options_;
};

class ClassEvaluation : public ClassificationEvaluation<metrics::ClassPredictions> {
 public:
  explicit ClassEvaluation(ClassOptions options)
      : ClassificationEvaluation("classes", std::move(options)) {}

  Json details() const override {
    const auto scored = score_examples().predictions;
    Json details = {{"labels", labels()}, {"per_class", Json::object()}};
    if (scored.classes == 2) {
      details["positive_label"] = label_name(scored.positive);
    }
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

 private:
  Scored<metrics::ClassPredictions> score_examples() const override {
    Scored<metrics::ClassPredictions> scored{.rows = rows(),
                                             .predictions = metrics::ClassPredictions(outputs())};
    auto& predictions = scored.predictions;
    for (auto& row : scored.rows) {
      predictions.labels.push_back(row.label);
      predictions.probabilities.push_back(softmax_of(row.outputs));
      predictions.losses.push_back(cross_entropy_of(row.outputs, row.label));
      predictions.logits.push_back(std::move(row.outputs));
    }
    DecisionThreshold decision{.threshold = threshold(), .positive_label = positive_label()};
    predictions.positive = decision.positive_class(labels());
    if (const auto metric = tuned_by()) {
      decision.threshold =
          metrics::best_threshold(predictions.is_label(predictions.positive),
                                  predictions.scores(predictions.positive), *metric);
    }
    scored.threshold = decision.threshold.value_or(0.5);
    for (std::size_t i = 0; i < predictions.labels.size(); ++i) {
      predictions.predictions.push_back(
          decision.predicted_class(predictions.probabilities[i], labels()));
      predictions.counts.add(predictions.labels[i], predictions.predictions[i]);
    }
    return scored;
  }

  Json fields_of(const metrics::ClassPredictions& scored, std::size_t row) const override {
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

  std::optional<metrics::ThresholdMetric> tuned_by() const override {
    return outputs() == 2 ? ClassificationEvaluation::tuned_by() : std::nullopt;
  }
};

class MultiLabelEvaluation : public ClassificationEvaluation<metrics::MultiLabelPredictions> {
 public:
  explicit MultiLabelEvaluation(ClassOptions options)
      : ClassificationEvaluation("multi_label", std::move(options)) {}

  Json details() const override {
    const auto scored = score_examples().predictions;
    const auto& counts = scored.counts;
    Json details = {
        {"labels", labels()}, {"per_class", Json::object()}, {"confusion_matrix", Json::object()}};
    for (int64_t id = 0; id < scored.classes; ++id) {
      details["per_class"][label_name(id)] =
          metrics::score_json(counts.class_scores(id), counts.support(id));
      const auto true_positives = std::llround(counts.true_positives(id));
      const auto false_negatives = std::llround(counts.support(id)) - true_positives;
      const auto false_positives = std::llround(counts.predicted(id)) - true_positives;
      const auto true_negatives = static_cast<int64_t>(scored.labels.size()) - true_positives -
                                  false_negatives - false_positives;
      // Rows: actual no, yes; columns: predicted no, yes.
      details["confusion_matrix"][label_name(id)] = {{true_negatives, false_positives},
                                                     {false_negatives, true_positives}};
    }
    return details;
  }

 private:
  Scored<metrics::MultiLabelPredictions> score_examples() const override {
    Scored<metrics::MultiLabelPredictions> scored{
        .rows = rows(), .predictions = metrics::MultiLabelPredictions(outputs())};
    auto& predictions = scored.predictions;
    for (const auto& row : scored.rows) {
      predictions.labels.emplace_back();
      for (const double value : row.values) {
        predictions.labels.back().push_back(value > 0);
      }
      predictions.probabilities.push_back(sigmoid_of(row.outputs));
      predictions.losses.push_back(bce_loss_of(row.outputs, row.values));
    }
    scored.threshold = threshold().value_or(0.5);
    if (const auto metric = tuned_by()) {
      scored.threshold =
          metrics::best_threshold(predictions.all_labels(), predictions.all_scores(), *metric);
    }
    for (std::size_t row = 0; row < predictions.labels.size(); ++row) {
      predictions.predictions.emplace_back();
      for (int64_t id = 0; id < predictions.classes; ++id) {
        const auto index = static_cast<std::size_t>(id);
        const bool is_predicted = predictions.probabilities[row][index] >= scored.threshold;
        predictions.predictions.back().push_back(is_predicted);
        predictions.counts.add_binary(id, predictions.labels[row][index], is_predicted);
      }
    }
    return scored;
  }

  Json fields_of(const metrics::MultiLabelPredictions& scored, std::size_t row) const override {
    Json fields = {{"labels", Json::array()},
                   {"predictions", Json::array()},
                   {"is_right", scored.labels[row] == scored.predictions[row]},
                   {"scores", Json::object()}};
    for (int64_t id = 0; id < scored.classes; ++id) {
      const auto index = static_cast<std::size_t>(id);
      if (scored.labels[row][index]) {
        fields["labels"].push_back(label_name(id));
      }
      if (scored.predictions[row][index]) {
        fields["predictions"].push_back(label_name(id));
      }
      fields["scores"][label_name(id)] = scored.probabilities[row][index];
    }
    return fields;
  }
};

}  // namespace

std::unique_ptr<Evaluation> make_class_evaluation(const ClassOptions& options) {
  return std::make_unique<ClassEvaluation>(options);
}

std::unique_ptr<Evaluation> make_multi_label_evaluation(const ClassOptions& options) {
  return std::make_unique<MultiLabelEvaluation>(options);
}

}  // namespace weft::objectives
