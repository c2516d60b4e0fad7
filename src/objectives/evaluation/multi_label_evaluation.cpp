#include <cmath>
#include <utility>

#include "metrics/metric.h"
#include "metrics/ranking_metrics.h"
#include "objectives/evaluation/class_evaluation.h"
#include "objectives/evaluation/eval_prediction.h"

namespace weft::objectives {

namespace {

using formats::Json;

struct ScoredLabels {
  std::vector<EvalPrediction> rows;
  metrics::MultiLabelPredictions predictions;
  double threshold = 0.5;
};

class MultiLabelEvaluation : public PredictionEvaluation {
 public:
  explicit MultiLabelEvaluation(ClassOptions options)
      : PredictionEvaluation("multi_label"), options_(std::move(options)) {}

  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    PredictionEvaluation::add(model, batch, context);
    check_values(batch, outputs());
  }

  std::map<std::string, double> result() const override {
    const auto scored = score_examples();
    auto metrics = metrics::compute_metrics(scored.predictions);
    if (options_.tune_threshold) {
      metrics["threshold"] = scored.threshold;
    }
    return metrics::with_eval_prefix(metrics);
  }

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

  std::optional<std::vector<ExampleResult>> hardest_examples(int64_t limit) const override {
    const auto scored = score_examples();
    return hardest_examples_of(scored.rows, scored.predictions.losses, limit,
                               [&](std::size_t row) { return fields_of(scored.predictions, row); });
  }

 private:
  ScoredLabels score_examples() const {
    ScoredLabels scored{.rows = rows(), .predictions = metrics::MultiLabelPredictions(outputs())};
    auto& predictions = scored.predictions;
    for (const auto& row : scored.rows) {
      predictions.labels.emplace_back();
      for (const double value : row.values) {
        predictions.labels.back().push_back(value > 0);
      }
      predictions.probabilities.push_back(sigmoid_of(row.outputs));
      predictions.losses.push_back(bce_loss_of(row.outputs, row.values));
    }
    scored.threshold = options_.threshold.value_or(0.5);
    if (options_.tune_threshold) {
      scored.threshold = metrics::best_threshold(predictions.all_labels(), predictions.all_scores(),
                                                 *options_.tune_threshold);
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

  Json fields_of(const metrics::MultiLabelPredictions& scored, std::size_t row) const {
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

  ClassOptions options_;
};

}  // namespace

std::unique_ptr<Evaluation> make_multi_label_evaluation(const ClassOptions& options) {
  return std::make_unique<MultiLabelEvaluation>(options);
}

}  // namespace weft::objectives
