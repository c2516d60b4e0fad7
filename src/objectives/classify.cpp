#include <numeric>

#include "kernels/to_device.h"
#include "kernels/total.h"
#include "objectives/evaluation/class_evaluation.h"
#include "objectives/evaluation/seen.h"
#include "objectives/loss/class_loss.h"
#include "objectives/loss/class_weights.h"
#include "objectives/loss/r_drop.h"
#include "objectives/sequence.h"

namespace weft::objectives {

namespace {

LossShape shape_of(const ClassOptions& options) {
  return {.smoothing = options.label_smoothing, .focal_gamma = options.focal_gamma};
}

class ClassifyObjective : public Objective {
 public:
  explicit ClassifyObjective(const ObjectiveOptions& options)
      : options_(options.classes), shape_(shape_of(options.classes)), r_drop_(options.r_drop) {}

  models::Head head() const override { return models::Head::kSequence; }
  std::vector<std::string> terms() const override { return {"classify"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {batch.sequences()};
  }

  std::vector<double> weights(const data::Batch& batch) const override {
    if (shape_.weights.empty()) {
      return {static_cast<double>(batch.sequences())};
    }
    return {std::accumulate(batch.labels.begin(), batch.labels.end(), 0.0,
                            [&](double sum, int64_t label) {
                              return sum + shape_.weights[static_cast<std::size_t>(label)];
                            })};
  }

  void learn_from(const TaskData& data) override {
    shape_.weights = class_weights(options_, data.labels, data.class_counts, data.rows);
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::Pass& pass) const override {
    const auto labels = kernels::to_device(batch.labels, pass.layout.positions.device());
    return {r_drop_loss(
        model, batch, pass, r_drop_,
        [&](const auto& logits) {
          return batch.values.empty()
                     ? class_loss_sum(logits, labels, shape_)
                     : mixed_class_loss_sum(logits, wanted_values(batch, logits), shape_);
        },
        [&](const auto& first, const auto& second) {
          const auto rows = class_divergence(first, second);  // (B)
          return shape_.weights.empty()
                     ? kernels::total(rows)
                     : kernels::total(rows * kernels::to_device(shape_.weights, rows.device())
                                                 .index_select(0, labels));
        })};
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return make_class_evaluation(options_);
  }
  std::string best_by() const override { return "eval_accuracy"; }

 private:
  ClassOptions options_;
  LossShape shape_;
  double r_drop_;
};

/// Each class by itself: as transformers' problem type multi_label_classification.
class FlagObjective : public Objective {
 public:
  explicit FlagObjective(const ObjectiveOptions& options)
      : options_(options.classes), shape_(shape_of(options.classes)), r_drop_(options.r_drop) {}

  models::Head head() const override { return models::Head::kSequence; }
  std::vector<std::string> terms() const override { return {"classify"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.values.size())};
  }

  void learn_from(const TaskData& data) override {
    shape_.weights = class_weights(options_, data.labels, data.class_counts, data.rows);
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::Pass& pass) const override {
    return {r_drop_loss(
        model, batch, pass, r_drop_,
        [&](const auto& logits) {
          return flag_loss_sum(logits, wanted_values(batch, logits), shape_);
        },
        [](const auto& first, const auto& second) {
          return kernels::total(flag_divergence(first, second));
        })};
  }

  std::unique_ptr<Evaluation> evaluation() const override { return make_flag_evaluation(options_); }
  std::string best_by() const override { return "eval_f1"; }

 private:
  ClassOptions options_;
  LossShape shape_;
  double r_drop_;
};

}  // namespace

std::unique_ptr<Objective> make_classify_objective(const ObjectiveOptions& options) {
  if (options.classes.multi_label) {
    return std::make_unique<FlagObjective>(options);
  }
  return std::make_unique<ClassifyObjective>(options);
}

}  // namespace weft::objectives
