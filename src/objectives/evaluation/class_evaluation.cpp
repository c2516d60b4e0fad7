#include "objectives/evaluation/class_evaluation.h"

#include <algorithm>
#include <utility>

#include "metrics/calibration.h"
#include "metrics/confusion_counts.h"
#include "metrics/metrics.h"
#include "objectives/evaluation/eval_prediction.h"

namespace weft::objectives {

namespace {

using formats::Json;
using Metrics = std::map<std::string, double>;

constexpr int64_t kLargestMatrix = 1000;  // classes; no confusion matrix is reported for more

/// Inputs of all metrics, in item order.
struct ClassJudged {
  std::vector<EvalPrediction> rows;
  std::vector<std::vector<double>> probabilities;  // per row and class
  std::vector<int64_t> labels;
  std::vector<int64_t> predicted;
  double threshold = 0.5;
  int64_t classes = 0;

  std::vector<bool> is_label(int64_t name) const {
    std::vector<bool> flags;
    flags.reserve(labels.size());
    for (const int64_t label : labels) {
      flags.push_back(label == name);
    }
    return flags;
  }
};

/// The most likely class or, with two classes and a threshold, the second from the threshold on.
int64_t choice(const std::vector<double>& probabilities, const std::optional<double>& threshold) {
  if (threshold && probabilities.size() == 2) {
    return probabilities[1] >= *threshold ? 1 : 0;
  }
  return std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin();
}

void add_class_ranking(const ClassJudged& scored, Metrics& metrics) {
  std::vector<double> areas;
  std::vector<double> precisions;
  for (int64_t name = scored.classes == 2 ? 1 : 0; name < scored.classes; ++name) {
    const auto is_label = scored.is_label(name);
    const auto scores = column_of(scored.probabilities, name);
    areas.push_back(metrics::roc_auc(is_label, scores));
    precisions.push_back(metrics::average_precision(is_label, scores));
  }
  metrics["eval_roc_auc"] = metrics::nan_mean(areas);
  metrics["eval_average_precision"] = metrics::nan_mean(precisions);
}

/// The Brier score of two classes is that of the second, of more the sum over all, as in
/// scikit-learn.
void add_class_calibration(const ClassJudged& scored, Metrics& metrics) {
  std::vector<bool> is_right;
  std::vector<double> confidence;
  double squares = 0;
  for (std::size_t i = 0; i < scored.rows.size(); ++i) {
    const auto& probabilities = scored.probabilities[i];
    is_right.push_back(scored.predicted[i] == scored.labels[i]);
    confidence.push_back(probabilities[static_cast<std::size_t>(scored.predicted[i])]);
    for (int64_t name = scored.classes == 2 ? 1 : 0; name < scored.classes; ++name) {
      const double gap =
          probabilities[static_cast<std::size_t>(name)] - (scored.labels[i] == name ? 1 : 0);
      squares += gap * gap;
    }
  }
  metrics["eval_ece"] = metrics::expected_calibration_error(is_right, confidence);
  metrics["eval_brier_score"] =
      scored.rows.empty() ? 0 : squares / static_cast<double>(scored.rows.size());
}

/// Fraction of rows whose label is among the five most likely; ties go to the first.
double top_five(const ClassJudged& scored) {
  constexpr int64_t kMost = 5;
  int64_t hits = 0;
  for (std::size_t i = 0; i < scored.rows.size(); ++i) {
    const auto& outputs = scored.rows[i].outputs;
    const auto label = static_cast<std::size_t>(scored.labels[i]);
    int64_t before = 0;
    for (std::size_t name = 0; name < outputs.size(); ++name) {
      before += outputs[name] > outputs[label] || (outputs[name] == outputs[label] && name < label);
    }
    hits += before < kMost ? 1 : 0;
  }
  return metrics::safe_divide(static_cast<double>(hits), static_cast<double>(scored.rows.size()));
}

class ClassEvaluation : public Evaluation {
 public:
  explicit ClassEvaluation(ClassOptions options) : options_(std::move(options)) {}

  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    predictions_.add(model, batch, context);
  }

  Metrics result() const override {
    const auto scored = score_examples();
    const auto counts = count_confusion(scored);
    const auto scores = scored.classes == 2 ? counts.class_scores(1) : counts.macro_over_present();
    double loss = 0;
    for (const auto& row : scored.rows) {
      loss += cross_entropy_of(row.outputs, row.label);
    }
    const double right = metrics::accuracy(scored.labels, scored.predicted);
    Metrics metrics = {
        {"eval_loss", scored.rows.empty() ? 0 : loss / static_cast<double>(scored.rows.size())},
        {"eval_accuracy", right},
        {"eval_precision", scores.precision},
        {"eval_recall", scores.recall},
        {"eval_f1", scores.f1},
        {"eval_f1_macro", counts.macro_over_present().f1},
        {"eval_f1_weighted", counts.weighted().f1},
        {"eval_matthews_correlation",
         metrics::matthews_correlation(scored.labels, scored.predicted, scored.classes)}};
    if (scored.classes > 5) {
      metrics["eval_top5_accuracy"] = top_five(scored);
    }
    if (scored.classes == 2) {
      metrics["eval_combined_score"] = (right + scores.f1) / 2;  // as in GLUE for MRPC and QQP
    }
    if (options_.tune_threshold && scored.classes == 2) {
      metrics["eval_threshold"] = scored.threshold;
    }
    add_class_ranking(scored, metrics);
    add_class_calibration(scored, metrics);
    return metrics;
  }

  Json details() const override {
    const auto scored = score_examples();
    const auto counts = count_confusion(scored);
    Json details = {{"labels", predictions_.names()}, {"per_class", Json::object()}};
    for (int64_t name = 0; name < scored.classes; ++name) {
      details["per_class"][predictions_.name(name)] =
          metrics::score_json(counts.class_scores(name), counts.support(name));
    }
    if (scored.classes <= kLargestMatrix) {
      std::vector<std::vector<int64_t>> matrix(
          static_cast<std::size_t>(scored.classes),
          std::vector<int64_t>(static_cast<std::size_t>(scored.classes)));
      for (std::size_t i = 0; i < scored.labels.size(); ++i) {
        ++matrix[static_cast<std::size_t>(scored.labels[i])]
                [static_cast<std::size_t>(scored.predicted[i])];
      }
      details["confusion_matrix"] = matrix;  // rows: labels, columns: predictions
    }
    return details;
  }

  std::optional<std::vector<ExampleResult>> hardest_examples(int64_t limit) const override {
    const auto scored = score_examples();
    return hardest_examples_of(
        scored.rows, limit,
        [](const EvalPrediction& row) { return cross_entropy_of(row.outputs, row.label); },
        [&](std::size_t row) { return fields_of(scored, row); });
  }

 private:
  ClassJudged score_examples() const {
    ClassJudged scored;
    scored.rows = predictions_.rows();
    scored.classes = predictions_.outputs();
    for (const auto& row : scored.rows) {
      scored.labels.push_back(row.label);
      scored.probabilities.push_back(softmax_of(row.outputs));
    }
    auto threshold = options_.threshold;
    if (options_.tune_threshold && scored.classes == 2) {
      threshold = metrics::best_threshold(scored.is_label(1), column_of(scored.probabilities, 1),
                                          *options_.tune_threshold);
    }
    scored.threshold = threshold.value_or(0.5);
    for (const auto& probabilities : scored.probabilities) {
      scored.predicted.push_back(choice(probabilities, threshold));
    }
    return scored;
  }

  Json fields_of(const ClassJudged& scored, std::size_t row) const {
    const auto& probabilities = scored.probabilities[row];
    Json fields = {{"label", predictions_.name(scored.labels[row])},
                   {"prediction", predictions_.name(scored.predicted[row])},
                   {"is_right", scored.labels[row] == scored.predicted[row]},
                   {"score", probabilities[static_cast<std::size_t>(scored.predicted[row])]},
                   {"scores", Json::object()}};
    for (int64_t name = 0; name < scored.classes; ++name) {
      fields["scores"][predictions_.name(name)] = probabilities[static_cast<std::size_t>(name)];
    }
    return fields;
  }

  static metrics::ConfusionCounts count_confusion(const ClassJudged& scored) {
    metrics::ConfusionCounts counts(scored.classes);
    for (std::size_t i = 0; i < scored.labels.size(); ++i) {
      counts.add(scored.labels[i], scored.predicted[i]);
    }
    return counts;
  }

  ClassOptions options_;
  PredictionCollector predictions_;
};

}  // namespace

std::unique_ptr<Evaluation> make_class_evaluation(const ClassOptions& options) {
  return std::make_unique<ClassEvaluation>(options);
}

}  // namespace weft::objectives
