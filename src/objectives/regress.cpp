
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/string_util.h"
#include "kernels/sum.h"
#include "metrics/metric.h"
#include "metrics/ranking_metrics.h"
#include "models/config/family_definition.h"
#include "nn/auxiliary_losses.h"
#include "objectives/data/datasets.h"
#include "objectives/evaluation/eval_prediction.h"
#include "objectives/loss/r_drop.h"
#include "objectives/objective.h"
#include "objectives/objectives.h"
#include "objectives/sequence_objective.h"

namespace weft::objectives {

namespace {

using formats::Json;

/// Of the target with this index.
metrics::ValuePredictions values_of(const std::vector<EvalPrediction>& rows, std::size_t index) {
  metrics::ValuePredictions values;
  for (const auto& row : rows) {
    values.targets.push_back(row.values[index]);
    values.predictions.push_back(row.outputs[index]);
  }
  return values;
}

double squared_error_of(const EvalPrediction& row) {
  double sum = 0;
  for (std::size_t i = 0; i < row.outputs.size(); ++i) {
    sum += (row.values[i] - row.outputs[i]) * (row.values[i] - row.outputs[i]);
  }
  return sum / static_cast<double>(row.outputs.size());
}

class RegressEvaluation : public PredictionEvaluation {
 public:
  RegressEvaluation() : PredictionEvaluation("regress") {}

  /// Means over the targets.
  std::map<std::string, double> result() const override {
    const auto rows = this->rows();
    const auto targets = static_cast<std::size_t>(std::max<int64_t>(outputs(), 1));
    std::map<std::string, std::vector<double>> values;
    for (std::size_t index = 0; index < targets; ++index) {
      for (const auto& [name, value] : metrics::compute_metrics(values_of(rows, index))) {
        values[name].push_back(value);
      }
    }
    std::map<std::string, double> metrics;
    for (const auto& [name, list] : values) {
      metrics[name] = metrics::nan_mean(list);
    }
    metrics["loss"] = metrics.at("mse");
    metrics["combined_score"] =
        (metrics.at("pearson") + metrics.at("spearmanr")) / 2;  // as in GLUE for STS-B
    add_layers(rows, metrics);
    return metrics::with_eval_prefix(metrics);
  }

  Json details() const override {
    Json details = Json::object();
    if (outputs() < 2) {
      return details;
    }
    const auto rows = this->rows();
    details["labels"] = labels();
    for (int64_t index = 0; index < outputs(); ++index) {
      details["per_label"][label_name(index)] =
          metrics::compute_metrics(values_of(rows, static_cast<std::size_t>(index)));
    }
    return details;
  }

  std::optional<std::vector<ExampleResult>> hardest_examples(int64_t limit) const override {
    const auto rows = this->rows();
    std::vector<double> losses;
    for (const auto& row : rows) {
      losses.push_back(squared_error_of(row));
    }
    return hardest_examples_of(rows, losses, limit, [&](std::size_t index) -> Json {
      const auto& row = rows[index];
      const bool is_one = row.outputs.size() == 1;
      return {{"label", is_one ? Json(row.values[0]) : Json(row.values)},
              {"prediction", is_one ? Json(row.outputs[0]) : Json(row.outputs)}};
    });
  }
};

class RegressObjective : public SequenceObjective {
 public:
  using SequenceObjective::SequenceObjective;

  std::string_view name() const override { return "regress"; }
  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override {
    if (models::reads_images(model)) {
      return cannot_train(name(), model, "reads images");
    }
    return SequenceObjective::incompatibility(model);
  }
  data::LabelFormat label_format(const data::DataOptions& data) const override {
    auto format = SequenceObjective::label_format(data);
    format.is_regression = true;
    return format;
  }
  ObjectiveTraits traits(const models::ModelOptions& model) const override {
    auto traits = SequenceObjective::traits(model);
    traits.sets_sequence_losses = true;
    return traits;
  }
  std::vector<std::string> terms() const override { return {"regress"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.values.size())};
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    return {r_drop_loss(
        model, batch, context, r_drop(),
        [&](const auto& outputs) {
          const auto values = outputs.to(at::kFloat);  // (B, T)
          const auto errors = (values - target_values(batch, values)).square();
          set_sequence_losses(context, errors.size(0), [&](int64_t b) { return errors[b].sum(); });
          return kernels::deterministic_sum(errors);
        },
        [](const auto& first, const auto& second) {
          return kernels::deterministic_sum(
              (first.to(at::kFloat) - second.to(at::kFloat)).square());
        })};
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return std::make_unique<RegressEvaluation>();
  }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override {
    return labelled_datasets(inputs, label_format(inputs.data));
  }
};

}  // namespace

std::unique_ptr<Objective> make_regress(double r_drop) {
  return std::make_unique<RegressObjective>(r_drop);
}

std::unique_ptr<Objective> read_regress(config::Section& section) {
  return make_regress(read_r_drop(section));
}

}  // namespace weft::objectives
