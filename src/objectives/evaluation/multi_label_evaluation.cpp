#include <algorithm>
#include <cmath>
#include <utility>

#include "metrics/calibration.h"
#include "metrics/confusion_counts.h"
#include "metrics/metrics.h"
#include "objectives/evaluation/class_evaluation.h"
#include "objectives/evaluation/eval_prediction.h"

namespace weft::objectives {

namespace {

using formats::Json;
using Metrics = std::map<std::string, double>;

/// Inputs of all metrics, in item order.
struct FlagJudged {
  std::vector<EvalPrediction> rows;
  std::vector<std::vector<double>> probabilities;  // per row and class
  double threshold = 0.5;
  int64_t classes = 0;

  bool is_actual(std::size_t row, int64_t name) const {
    return rows[row].values[static_cast<std::size_t>(name)] > 0;
  }
  bool is_predicted(std::size_t row, int64_t name) const {
    return probabilities[row][static_cast<std::size_t>(name)] >= threshold;
  }
  std::vector<bool> actual(int64_t name) const {
    std::vector<bool> flags;
    flags.reserve(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      flags.push_back(is_actual(row, name));
    }
    return flags;
  }
};

/// All decisions of all rows and classes, flattened.
struct BinaryExamples {
  std::vector<bool> actual;
  std::vector<double> probabilities;
};

BinaryExamples flatten_classes(const FlagJudged& scored) {
  BinaryExamples all;
  for (std::size_t row = 0; row < scored.rows.size(); ++row) {
    for (int64_t name = 0; name < scored.classes; ++name) {
      all.actual.push_back(scored.is_actual(row, name));
    }
    all.probabilities.insert(all.probabilities.end(), scored.probabilities[row].begin(),
                             scored.probabilities[row].end());
  }
  return all;
}

/// Subset accuracy and Hamming loss.
void add_agreement(const FlagJudged& scored, Metrics& metrics) {
  double whole = 0;
  double wrong = 0;
  double loss = 0;
  for (std::size_t row = 0; row < scored.rows.size(); ++row) {
    double errors = 0;
    for (int64_t name = 0; name < scored.classes; ++name) {
      errors += scored.is_actual(row, name) == scored.is_predicted(row, name) ? 0 : 1;
    }
    whole += errors == 0 ? 1 : 0;
    wrong += errors;
    loss += bce_loss_of(scored.rows[row].outputs, scored.rows[row].values);
  }
  const auto rows = static_cast<double>(std::max<std::size_t>(scored.rows.size(), 1));
  metrics["eval_loss"] = loss / rows;
  metrics["eval_accuracy"] = whole / rows;
  metrics["eval_hamming_loss"] =
      wrong / (rows * static_cast<double>(std::max<int64_t>(scored.classes, 1)));
}

void add_flag_ranking(const FlagJudged& scored, Metrics& metrics) {
  std::vector<double> areas;
  std::vector<double> precisions;
  for (int64_t name = 0; name < scored.classes; ++name) {
    const auto actual = scored.actual(name);
    const auto scores = column_of(scored.probabilities, name);
    areas.push_back(metrics::roc_auc(actual, scores));
    precisions.push_back(metrics::average_precision(actual, scores));
  }
  metrics["eval_roc_auc"] = metrics::nan_mean(areas);
  metrics["eval_average_precision"] = metrics::nan_mean(precisions);
}

void add_flag_calibration(const FlagJudged& scored, Metrics& metrics) {
  const auto all = flatten_classes(scored);
  double squares = 0;
  for (std::size_t i = 0; i < all.probabilities.size(); ++i) {
    const double gap = all.probabilities[i] - (all.actual[i] ? 1 : 0);
    squares += gap * gap;
  }
  metrics["eval_ece"] = metrics::expected_calibration_error(all.actual, all.probabilities);
  metrics["eval_brier_score"] =
      all.probabilities.empty() ? 0 : squares / static_cast<double>(all.probabilities.size());
}

class MultiLabelEvaluation : public Evaluation {
 public:
  explicit MultiLabelEvaluation(ClassOptions options) : options_(std::move(options)) {}

  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    predictions_.add(model, batch, context);
    check_values(batch, predictions_.outputs());
  }

  Metrics result() const override {
    const auto scored = score_examples();
    const auto counts = count_confusion(scored);
    const auto micro = counts.micro();
    Metrics metrics = {{"eval_precision", micro.precision},
                       {"eval_recall", micro.recall},
                       {"eval_f1", micro.f1},
                       {"eval_f1_macro", counts.macro().f1},
                       {"eval_f1_weighted", counts.weighted().f1}};
    if (options_.tune_threshold) {
      metrics["eval_threshold"] = scored.threshold;
    }
    add_agreement(scored, metrics);
    add_flag_ranking(scored, metrics);
    add_flag_calibration(scored, metrics);
    return metrics;
  }

  Json details() const override {
    const auto scored = score_examples();
    const auto counts = count_confusion(scored);
    Json details = {{"labels", predictions_.names()},
                    {"per_class", Json::object()},
                    {"confusion_matrix", Json::object()}};
    for (int64_t name = 0; name < scored.classes; ++name) {
      details["per_class"][predictions_.name(name)] =
          metrics::score_json(counts.class_scores(name), counts.support(name));
      const auto true_positives = std::llround(counts.true_positives(name));
      const auto false_negatives = std::llround(counts.support(name)) - true_positives;
      const auto false_positives = std::llround(counts.predicted(name)) - true_positives;
      const auto true_negatives = static_cast<int64_t>(scored.rows.size()) - true_positives -
                                  false_negatives - false_positives;
      // Rows: actual no, yes; columns: predicted no, yes.
      details["confusion_matrix"][predictions_.name(name)] = {{true_negatives, false_positives},
                                                              {false_negatives, true_positives}};
    }
    return details;
  }

  std::optional<std::vector<ExampleResult>> hardest_examples(int64_t limit) const override {
    const auto scored = score_examples();
    return hardest_examples_of(
        scored.rows, limit,
        [](const EvalPrediction& row) { return bce_loss_of(row.outputs, row.values); },
        [&](std::size_t row) { return fields_of(scored, row); });
  }

 private:
  FlagJudged score_examples() const {
    FlagJudged scored;
    scored.rows = predictions_.rows();
    scored.classes = predictions_.outputs();
    for (const auto& row : scored.rows) {
      scored.probabilities.push_back(sigmoid_of(row.outputs));
    }
    scored.threshold = options_.threshold.value_or(0.5);
    if (options_.tune_threshold) {
      const auto all = flatten_classes(scored);
      scored.threshold =
          metrics::best_threshold(all.actual, all.probabilities, *options_.tune_threshold);
    }
    return scored;
  }

  static metrics::ConfusionCounts count_confusion(const FlagJudged& scored) {
    metrics::ConfusionCounts counts(scored.classes);
    for (std::size_t row = 0; row < scored.rows.size(); ++row) {
      for (int64_t name = 0; name < scored.classes; ++name) {
        counts.add_binary(name, scored.is_actual(row, name), scored.is_predicted(row, name));
      }
    }
    return counts;
  }

  Json fields_of(const FlagJudged& scored, std::size_t row) const {
    Json fields = {{"labels", Json::array()},
                   {"predictions", Json::array()},
                   {"is_right", false},
                   {"scores", Json::object()}};
    for (int64_t name = 0; name < scored.classes; ++name) {
      if (scored.is_actual(row, name)) {
        fields["labels"].push_back(predictions_.name(name));
      }
      if (scored.is_predicted(row, name)) {
        fields["predictions"].push_back(predictions_.name(name));
      }
      fields["scores"][predictions_.name(name)] =
          scored.probabilities[row][static_cast<std::size_t>(name)];
    }
    fields["is_right"] = fields["labels"] == fields["predictions"];
    return fields;
  }

  ClassOptions options_;
  PredictionCollector predictions_;
};

}  // namespace

std::unique_ptr<Evaluation> make_multi_label_evaluation(const ClassOptions& options) {
  return std::make_unique<MultiLabelEvaluation>(options);
}

}  // namespace weft::objectives
