#include <algorithm>
#include <numeric>

#include "base/string_util.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "models/config/family_definition.h"
#include "nn/auxiliary_losses.h"
#include "objectives/data/datasets.h"
#include "objectives/data/training_texts.h"
#include "objectives/evaluation/class_evaluation.h"
#include "objectives/evaluation/eval_prediction.h"
#include "objectives/loss/class_loss.h"
#include "objectives/loss/r_drop.h"
#include "objectives/objective.h"
#include "objectives/objectives.h"
#include "objectives/sequence_objective.h"

namespace weft::objectives {

namespace {

ClassLossOptions loss_options_of(const ClassOptions& options) {
  return {.smoothing = options.label_smoothing, .focal_gamma = options.focal_gamma};
}

/// Throws config::Error if the configured positive class is not one of two.
void check_positive_label(const std::string& label, const std::vector<std::string>& labels) {
  if (labels.size() != 2) {
    throw config::Error(str_cat("objective.positive_label: '", label, "', but there are ",
                                labels.size(), " classes; allowed with two classes only"));
  }
  if (std::find(labels.begin(), labels.end(), label) == labels.end()) {
    const auto near = did_you_mean(label, labels);
    throw config::Error(str_cat("objective.positive_label: ", quoted_text(label),
                                " is not one of the classes ", join(labels),
                                near.empty() ? "" : str_cat(", did you mean '", near, "'?")));
  }
}

/// The configured class or, of two, the rarer one in the training data; of equal ones the second.
void set_positive_label(const ClassOptions& options, Datasets& data) {
  const std::string what = "positive class of F1, precision, recall and ROC: ";
  if (!options.positive_label.empty()) {
    check_positive_label(options.positive_label, data.labels);
    data.positive_label = options.positive_label;
    data.remarks.push_back(what + data.positive_label);
  } else if (data.train && data.labels.size() == 2 && !options.multi_label) {
    const auto& counts = data.class_counts;
    data.positive_label = data.labels[counts[0] < counts[1] ? 0 : 1];
    data.remarks.push_back(
        str_cat(what, data.positive_label, ", the ",
                counts[0] == counts[1] ? "second of two equal ones" : "rarer one",
                "; objective.positive_label sets another"));
  }
}

/// What one class and any number of classes have in common.
class ClassObjective : public SequenceObjective {
 public:
  explicit ClassObjective(const ClassOptions& options)
      : SequenceObjective(options.r_drop),
        options_(options),
        positive_label_(options.positive_label),
        loss_options_(loss_options_of(options)) {}

  std::string_view name() const override { return "classify"; }
  DecisionThreshold decision_threshold() const override {
    return {.threshold = options_.threshold,
            .tuned_by = options_.tune_threshold ? name_of(*options_.tune_threshold) : "",
            .positive_label = positive_label_};
  }
  void set_decision_threshold(const DecisionThreshold& decision) override;
  void init_from_data(const Datasets& data) override {
    positive_label_ = data.positive_label;
    loss_options_.weights = class_weights(options_, data.labels, data.class_counts, data.rows);
  }
  data::LabelFormat label_format(const data::DataOptions& data) const override {
    auto format = SequenceObjective::label_format(data);
    format.is_multi_label = options_.multi_label;
    return format;
  }
  void check_training(const TrainingSetup& setup) const override;
  ObjectiveTraits traits(const models::ModelOptions& model) const override {
    auto traits = SequenceObjective::traits(model);
    traits.sets_sequence_losses = true;
    return traits;
  }

 protected:
  /// Options of an evaluation, with the positive class.
  ClassOptions evaluation_options() const {
    auto options = options_;
    options.positive_label = positive_label_;
    return options;
  }
  const ClassLossOptions& loss_options() const { return loss_options_; }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override;
  void check_threshold(const Datasets& data) const;

  ClassOptions options_;
  std::string positive_label_;  // as configured, or of the data or the model
  ClassLossOptions loss_options_;
};

void ClassObjective::set_decision_threshold(const DecisionThreshold& decision) {
  options_.tune_threshold.reset();
  if (decision.threshold) {
    options_.threshold = decision.threshold;
  }
  if (options_.positive_label.empty()) {
    positive_label_ = decision.positive_label;
  } else if (decision.threshold && decision.positive_label != options_.positive_label) {
    throw config::Error(str_cat(
        "objective.positive_label: '", options_.positive_label,
        "', but the threshold of the model is for ",
        decision.positive_label.empty() ? "its second class" : quoted_text(decision.positive_label),
        "; omit the key"));
  }
}

void ClassObjective::check_training(const TrainingSetup& setup) const {
  if (models::capabilities_of(setup.model.family).is_counted) {
    auto section = setup.objective_section;
    for (const auto* key : {"label_smoothing", "focal_gamma", "class_weights", "r_drop"}) {
      section.reject_unused(
          key, str_cat("has no effect with model.type: ", models::word_of(setup.model.family),
                       ", which has no training loss"));
    }
  }
  if (options_.tune_threshold && !setup.is_evaluated) {
    setup.objective_section.report(
        "tune_threshold",
        "train.evaluate_every is never, but tuning the threshold needs evaluations");
  }
  if (options_.tune_threshold && !setup.data.has_evaluation()) {
    setup.objective_section.report(
        "tune_threshold",
        "there is no data.evaluate, but tuning the threshold needs evaluation data");
  }
}

Datasets ClassObjective::read_datasets(const DatasetInputs& inputs) const {
  const bool is_of_images = models::reads_images(inputs.model);
  auto data =
      is_of_images ? image_datasets(inputs) : labelled_datasets(inputs, label_format(inputs.data));
  if (data.labels.size() < 2 && !options_.multi_label) {
    throw config::Error(str_cat("objective.type: classify, but the ",
                                is_of_images ? "images" : "data", " have only one class (",
                                join(data.labels), "), there must be at least two"));
  }
  check_threshold(data);
  set_positive_label(options_, data);
  return data;
}

/// A threshold is for one decision at a time.
void ClassObjective::check_threshold(const Datasets& data) const {
  const bool has_threshold = options_.threshold || options_.tune_threshold;
  if (has_threshold && !options_.multi_label && data.labels.size() != 2) {
    throw config::Error(str_cat("objective.", options_.threshold ? "threshold" : "tune_threshold",
                                ": there are ", data.labels.size(),
                                " classes, of which the most likely is predicted; allowed with two "
                                "classes or with multi_label: true"));
  }
  if (options_.tune_threshold && !data.evaluate) {
    throw config::Error(
        "objective.tune_threshold: there is no data.evaluate to tune the threshold on");
  }
}

class SingleLabelObjective : public ClassObjective {
 public:
  using ClassObjective::ClassObjective;

  ObjectiveTraits traits(const models::ModelOptions& model) const override {
    auto traits = ClassObjective::traits(model);
    traits.supports_counting = true;
    return traits;
  }

  std::vector<std::string> terms() const override { return {"classify"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {batch.sequences()};
  }

  std::vector<double> weights(const data::Batch& batch) const override {
    const bool has_soft_targets = !batch.values.empty();
    if (loss_options().weights.empty() || has_soft_targets) {
      return {static_cast<double>(batch.sequences())};
    }
    return {std::accumulate(batch.labels.begin(), batch.labels.end(), 0.0,
                            [&](double sum, int64_t label) {
                              return sum + loss_options().weights[static_cast<std::size_t>(label)];
                            })};
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    const auto labels = kernels::to_device(batch.labels, context.layout.positions.device());
    return {r_drop_loss(
        model, batch, context, r_drop(),
        [&](const auto& logits) {
          const auto loss = [&](const at::Tensor& rows, int64_t first) {
            return batch.values.empty()
                       ? class_loss_sum(rows, labels.narrow(0, first, rows.size(0)), loss_options())
                       : soft_target_loss_sum(
                             rows, target_values(batch, logits).narrow(0, first, rows.size(0)),
                             loss_options());
          };
          set_sequence_losses(context, logits.size(0),
                              [&](int64_t b) { return loss(logits.narrow(0, b, 1), b); });
          return loss(logits, 0);
        },
        [&](const auto& first, const auto& second) {
          const auto rows = symmetric_kl(first, second);  // (B)
          return loss_options().weights.empty()
                     ? kernels::deterministic_sum(rows)
                     : kernels::deterministic_sum(
                           rows * kernels::to_device(loss_options().weights, rows.device())
                                      .index_select(0, labels));
        })};
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return make_class_evaluation(evaluation_options());
  }
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    auto example = sample_input(model, length);
    example.label = 0;
    return example;
  }
  std::string metric_for_best_model() const override { return "eval_accuracy"; }
};

/// Binary decision per class: transformers' problem type multi_label_classification.
class MultiLabelObjective : public ClassObjective {
 public:
  using ClassObjective::ClassObjective;

  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override {
    if (models::reads_images(model)) {
      return Incompatibility{"multi_label", "true, but an image has one class, allowed is false"};
    }
    return ClassObjective::incompatibility(model);
  }
  std::vector<std::string> terms() const override { return {"multi_label"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.values.size())};
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    return {r_drop_loss(
        model, batch, context, r_drop(),
        [&](const auto& logits) {
          const auto targets = target_values(batch, logits);
          set_sequence_losses(context, logits.size(0), [&](int64_t b) {
            return bce_loss_sum(logits.narrow(0, b, 1), targets.narrow(0, b, 1), loss_options());
          });
          return bce_loss_sum(logits, targets, loss_options());
        },
        [](const auto& first, const auto& second) {
          return kernels::deterministic_sum(bernoulli_kl(first, second));
        })};
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return make_multi_label_evaluation(evaluation_options());
  }
  std::string metric_for_best_model() const override { return "eval_f1"; }
};

}  // namespace

std::unique_ptr<Objective> make_classify(const ClassOptions& options) {
  if (options.multi_label) {
    return std::make_unique<MultiLabelObjective>(options);
  }
  return std::make_unique<SingleLabelObjective>(options);
}

std::unique_ptr<Objective> read_classify(config::Section& section) {
  auto options = read_class_options(section);
  options.r_drop = read_r_drop(section);
  return make_classify(options);
}

}  // namespace weft::objectives
