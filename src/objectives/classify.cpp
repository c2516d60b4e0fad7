#include <numeric>

#include "kernels/deterministic_sum.h"
#include "kernels/to_device.h"
#include "objectives/data/sample_example.h"
#include "objectives/evaluation/class_evaluation.h"
#include "objectives/evaluation/eval_prediction.h"
#include "objectives/loss/class_loss.h"
#include "objectives/loss/class_weights.h"
#include "objectives/loss/r_drop.h"
#include "objectives/sequence_objectives.h"

namespace weft::objectives {

namespace {

ClassLossOptions loss_options_of(const ClassOptions& options) {
  return {.smoothing = options.label_smoothing, .focal_gamma = options.focal_gamma};
}

class ClassifyObjective : public Objective {
 public:
  explicit ClassifyObjective(const ObjectiveOptions& options)
      : options_(options.classes),
        loss_options_(loss_options_of(options.classes)),
        r_drop_(options.r_drop) {}

  models::Head head() const override { return models::Head::kSequence; }
  std::vector<std::string> terms() const override { return {"classify"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {batch.sequences()};
  }

  std::vector<double> weights(const data::Batch& batch) const override {
    const bool has_soft_targets = !batch.values.empty();
    if (loss_options_.weights.empty() || has_soft_targets) {
      return {static_cast<double>(batch.sequences())};
    }
    return {std::accumulate(batch.labels.begin(), batch.labels.end(), 0.0,
                            [&](double sum, int64_t label) {
                              return sum + loss_options_.weights[static_cast<std::size_t>(label)];
                            })};
  }

  void init_from_data(const Datasets& data) override {
    loss_options_.weights = class_weights(options_, data.labels, data.class_counts, data.rows);
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    const auto labels = kernels::to_device(batch.labels, context.layout.positions.device());
    return {r_drop_loss(
        model, batch, context, r_drop_,
        [&](const auto& logits) {
          return batch.values.empty()
                     ? class_loss_sum(logits, labels, loss_options_)
                     : soft_target_loss_sum(logits, target_values(batch, logits), loss_options_);
        },
        [&](const auto& first, const auto& second) {
          const auto rows = symmetric_kl(first, second);  // (B)
          return loss_options_.weights.empty()
                     ? kernels::deterministic_sum(rows)
                     : kernels::deterministic_sum(
                           rows * kernels::to_device(loss_options_.weights, rows.device())
                                      .index_select(0, labels));
        })};
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return make_class_evaluation(options_);
  }
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    auto example = sample_input(model, length);
    example.label = 0;
    return example;
  }
  std::string metric_for_best_model() const override { return "eval_accuracy"; }

 private:
  ClassOptions options_;
  ClassLossOptions loss_options_;
  double r_drop_;
};

/// Binary decision per class: transformers' problem type multi_label_classification.
class MultiLabelObjective : public Objective {
 public:
  explicit MultiLabelObjective(const ObjectiveOptions& options)
      : options_(options.classes),
        loss_options_(loss_options_of(options.classes)),
        r_drop_(options.r_drop) {}

  models::Head head() const override { return models::Head::kSequence; }
  std::vector<std::string> terms() const override { return {"classify"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.values.size())};
  }

  void init_from_data(const Datasets& data) override {
    loss_options_.weights = class_weights(options_, data.labels, data.class_counts, data.rows);
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    return {r_drop_loss(
        model, batch, context, r_drop_,
        [&](const auto& logits) {
          return bce_loss_sum(logits, target_values(batch, logits), loss_options_);
        },
        [](const auto& first, const auto& second) {
          return kernels::deterministic_sum(bernoulli_kl(first, second));
        })};
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return make_multi_label_evaluation(options_);
  }
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    auto example = sample_input(model, length);
    example.values.assign(static_cast<std::size_t>(models::head_outputs(model)), 0);
    return example;
  }
  std::string metric_for_best_model() const override { return "eval_f1"; }

 private:
  ClassOptions options_;
  ClassLossOptions loss_options_;
  double r_drop_;
};

}  // namespace

std::unique_ptr<Objective> make_classify_objective(const ObjectiveOptions& options) {
  if (options.classes.multi_label) {
    return std::make_unique<MultiLabelObjective>(options);
  }
  return std::make_unique<ClassifyObjective>(options);
}

}  // namespace weft::objectives
