#include "objectives/regress.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/string_util.h"
#include "kernels/deterministic_sum.h"
#include "metrics/metrics.h"
#include "metrics/ranking_metrics.h"
#include "models/config/family_definition.h"
#include "objectives/data/labelled_datasets.h"
#include "objectives/evaluation/eval_prediction.h"
#include "objectives/loss/r_drop.h"
#include "objectives/sequence_objective.h"

namespace weft::objectives {

namespace {

using formats::Json;
using Metrics = std::map<std::string, double>;

/// Metrics of one target over all rows.
struct RegressionMetrics {
  double mse = 0;  // mean squared error
  double mae = 0;  // mean absolute error
  double pearson = 0;
  double spearman = 0;
};

RegressionMetrics regression_metrics(const std::vector<EvalPrediction>& rows, std::size_t index) {
  std::vector<double> targets;
  std::vector<double> predicted;
  RegressionMetrics fit;
  for (const auto& row : rows) {
    targets.push_back(row.values[index]);
    predicted.push_back(row.outputs[index]);
    const double gap = targets.back() - predicted.back();
    fit.mse += gap * gap;
    fit.mae += std::abs(gap);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(rows.size(), 1));
  fit.mse /= count;
  fit.mae /= count;
  fit.pearson = metrics::pearson(predicted, targets);
  fit.spearman = metrics::spearman(predicted, targets);
  return fit;
}

double squared_error_of(const EvalPrediction& row) {
  double sum = 0;
  for (std::size_t i = 0; i < row.outputs.size(); ++i) {
    sum += (row.values[i] - row.outputs[i]) * (row.values[i] - row.outputs[i]);
  }
  return sum / static_cast<double>(row.outputs.size());
}

class RegressEvaluation : public Evaluation {
 public:
  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    predictions_.add(model, batch, context);
    check_values(batch, predictions_.outputs());
  }

  Metrics result() const override {
    const auto rows = predictions_.rows();
    std::vector<double> squares;
    std::vector<double> distances;
    std::vector<double> pearsons;
    std::vector<double> spearmans;
    for (std::size_t index = 0; index < static_cast<std::size_t>(predictions_.outputs()); ++index) {
      const auto fit = regression_metrics(rows, index);
      squares.push_back(fit.mse);
      distances.push_back(fit.mae);
      pearsons.push_back(fit.pearson);
      spearmans.push_back(fit.spearman);
    }
    const double by_value = metrics::nan_mean(pearsons);
    const double by_rank = metrics::nan_mean(spearmans);
    return {{"eval_loss", squares.empty() ? 0 : metrics::nan_mean(squares)},
            {"eval_mae", distances.empty() ? 0 : metrics::nan_mean(distances)},
            {"eval_pearson", by_value},
            {"eval_spearmanr", by_rank},
            {"eval_combined_score", (by_value + by_rank) / 2}};  // as in GLUE for STS-B
  }

  Json details() const override {
    Json details = Json::object();
    if (predictions_.outputs() < 2) {
      return details;
    }
    const auto rows = predictions_.rows();
    details["labels"] = predictions_.names();
    for (int64_t index = 0; index < predictions_.outputs(); ++index) {
      const auto fit = regression_metrics(rows, static_cast<std::size_t>(index));
      details["per_label"][predictions_.name(index)] = {{"mse", fit.mse},
                                                        {"mae", fit.mae},
                                                        {"pearson", fit.pearson},
                                                        {"spearmanr", fit.spearman}};
    }
    return details;
  }

  std::optional<std::vector<ExampleResult>> hardest_examples(int64_t limit) const override {
    const auto rows = predictions_.rows();
    return hardest_examples_of(rows, limit, squared_error_of, [&](std::size_t index) -> Json {
      const auto& row = rows[index];
      const bool is_one = row.outputs.size() == 1;
      return {{"label", is_one ? Json(row.values[0]) : Json(row.values)},
              {"prediction", is_one ? Json(row.outputs[0]) : Json(row.outputs)}};
    });
  }

 private:
  PredictionCollector predictions_;
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
          return kernels::deterministic_sum((values - target_values(batch, values)).square());
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
