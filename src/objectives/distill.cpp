#include <stdexcept>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "batching/model_inputs.h"
#include "kernels/linear/linear.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/directory.h"
#include "nn/sublayer.h"
#include "objectives/evaluation/eval_prediction.h"
#include "objectives/loss/attention_distillation.h"
#include "objectives/loss/class_loss.h"
#include "objectives/loss/teacher.h"
#include "objectives/masked_lm.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

constexpr const char* kSoft = "soft";
constexpr const char* kHard = "hard";
constexpr const char* kHidden = "hidden";
constexpr const char* kAttention = "attention";

/// T^2 KL(teacher || student), summed over rows.
at::Tensor distill_divergence(const at::Tensor& student,
                              const at::Tensor& teacher,
                              double temperature) {
  const auto student_log_probs =
      at::log_softmax(student.to(at::kFloat) / temperature, -1);  // (M, C)
  const auto teacher_log_probs = at::log_softmax(teacher.to(at::kFloat) / temperature, -1);
  return kernels::deterministic_sum(
             (teacher_log_probs.exp() * (teacher_log_probs - student_log_probs)).sum(-1)) *
         (temperature * temperature);
}

/// 1 - cos, summed over rows of equal width, which the config check ensures.
at::Tensor cosine_distance(const at::Tensor& student, const at::Tensor& teacher) {
  return kernels::deterministic_sum(
      1 - at::cosine_similarity(student.to(at::kFloat), teacher.to(at::kFloat), -1, 1e-8));
}

/// A context that records attention in the layers of the pairs.
struct RecordingContext {
  template <class Side>
  RecordingContext(const nn::ForwardContext& plain, const LayerPairs& pairs, const Side& side)
      : recorder(layers_of(pairs, side)), context(plain) {
    context.attention_recorder = pairs.empty() ? nullptr : &recorder;
  }
  RecordingContext(const RecordingContext&) = delete;
  RecordingContext& operator=(const RecordingContext&) = delete;

  nn::AttentionRecorder recorder;
  nn::ForwardContext context;

 private:
  template <class Side>
  static std::vector<int64_t> layers_of(const LayerPairs& pairs, const Side& side) {
    std::vector<int64_t> layers;
    for (const auto& pair : pairs) {
      layers.push_back(side(pair));
    }
    return layers;
  }
};

std::unique_ptr<Objective> make_student(StudentObjective student, const DistillOptions& options) {
  switch (student) {
    case StudentObjective::kMlm:
      return make_masked_lm({.mask = options.mask});
    case StudentObjective::kCausal:
      return make_causal_lm();
    case StudentObjective::kClassify:
      return make_classify({.positive_label = options.positive_label});
  }
  throw std::logic_error("make_student: unknown student_objective");
}

/// What students of the model can learn.
std::vector<std::string> possible_students(const models::ModelOptions& model) {
  std::vector<std::string> names;
  for (const auto student :
       {StudentObjective::kMlm, StudentObjective::kCausal, StudentObjective::kClassify}) {
    const auto objective = make_student(student, {});
    if (!objective->incompatibility(model)) {
      names.emplace_back(objective->name());
    }
  }
  return names;
}

constexpr const char* kNeedsAttention =
    "needs the attention between all tokens of a text, which is not known of ";

/// Whether its attention between all tokens of a text can be recorded.
bool has_attention_of_texts(const models::ModelOptions& model) {
  const auto& block = model.layer_types.block;
  return !nn::shortens_sequences(block) && !nn::cuts_sequences(block);
}

class DistillObjective : public Objective {
 public:
  explicit DistillObjective(const DistillOptions& options)
      : options_(options),
        student_(make_student(options.student_objective, options)),
        teacher_(options.teacher) {}

  std::string_view name() const override { return "distill"; }
  models::Head head(const models::ModelOptions& model) const override;
  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override;
  std::optional<models::ModelOptions> teacher_options(
      const models::ModelOptions& model) const override {
    return read_teacher_options(options_.teacher, model.head);
  }
  ObjectiveTraits traits(const models::ModelOptions& model) const override;

  std::vector<std::string> terms() const override {
    std::vector<std::string> names;
    for (const auto& [name, weight] : weighted_terms()) {
      names.emplace_back(name);
    }
    return names;
  }

  std::vector<int64_t> counts(const data::Batch& batch) const override {
    std::vector<int64_t> counts;
    for (const auto& [name, weight] : weighted_terms()) {
      const bool is_of_tokens = name == kHidden || name == kAttention;
      counts.push_back(is_of_tokens ? batch.tokens() : student_->counts(batch).front());
    }
    return counts;
  }

  void init_from_data(const Datasets& data) override { student_->init_from_data(data); }
  DecisionThreshold decision_threshold() const override { return student_->decision_threshold(); }
  void set_decision_threshold(const DecisionThreshold& decision) override {
    student_->set_decision_threshold(decision);
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    return is_classification() ? class_losses(model, batch, context)
                               : token_losses(model, batch, context);
  }

  std::unique_ptr<Evaluation> evaluation() const override { return student_->evaluation(); }
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    return student_->sample_example(model, length);
  }
  std::string metric_for_best_model() const override { return student_->metric_for_best_model(); }

  data::DataOptions store_options(const data::DataOptions& data,
                                  const models::ModelOptions& model) const override {
    return student_->store_options(data, model);
  }
  void check_training(const TrainingSetup& setup) const override;

 private:
  struct WeightedTerm {
    const char* name;
    double weight;
  };
  bool is_classification() const {
    return options_.student_objective == StudentObjective::kClassify;
  }

  std::vector<WeightedTerm> weighted_terms() const {
    std::vector<WeightedTerm> all = {{kSoft, options_.alpha_kd}, {kHard, options_.alpha_ce}};
    if (!is_classification()) {
      all.push_back({kHidden, options_.alpha_cos});
      all.push_back({kAttention, options_.alpha_attention});
    }
    std::erase_if(all, [](const WeightedTerm& term) { return term.weight == 0; });
    return all;
  }

  static nn::ForwardContext inference_context(nn::ForwardContext context) {
    context.is_training = false;
    context.recomputes_layers = false;
    context.auxiliary_losses = nullptr;
    return context;
  }

  /// Student and teacher layers whose attention is compared.
  LayerPairs compared_layers(const models::Model& student, const models::Model& teacher) const {
    return options_.alpha_attention == 0 ? LayerPairs{}
                                         : layer_pairs(options_.layer_map, student.options().layers,
                                                       teacher.options().layers);
  }

  /// The last hidden states used by the terms.
  struct States {
    nn::TokenStates targets;  // (M, D)
    at::Tensor all = {};      // (N, D), if a term compares them
  };
  States states_of(models::Model& model,
                   const data::Batch& batch,
                   const nn::ForwardContext& context) const {
    if (options_.alpha_cos == 0) {
      return {.targets = batching::target_states(model, batch, context)};
    }
    const auto all = batching::hidden_states(model, batch, context);
    const auto rows = kernels::to_device(batch.target_rows, all.device());
    return {
        .targets = {all.index_select(0, rows), batching::target_histories(model, batch, context)},
        .all = all};
  }

  std::vector<at::Tensor> token_losses(models::Model& model,
                                       const data::Batch& batch,
                                       const nn::ForwardContext& context) const {
    auto& teacher = teacher_.model_for(model);
    const auto pairs = compared_layers(model, teacher);
    RecordingContext student_recording(context, pairs, [](const auto& pair) { return pair.first; });
    const auto states = states_of(model, batch, student_recording.context);
    if (batch.targets.empty()) {
      return std::vector<at::Tensor>(weighted_terms().size(),
                                     batching::zero_loss(states.targets.states));
    }
    const auto targets = kernels::to_device(batch.targets, states.targets.states.device());
    RecordingContext teacher_recording(inference_context(context), pairs,
                                       [](const auto& pair) { return pair.second; });
    States teacher_states;
    at::Tensor teacher_logits;
    {
      const at::NoGradGuard guard;
      teacher_states = states_of(teacher, batch, teacher_recording.context);
      teacher_logits = teacher.lm_logits(teacher_states.targets);  // (M, V)
    }
    const auto logits = model.lm_logits(states.targets);
    std::vector<at::Tensor> losses;
    for (const auto& [name, weight] : weighted_terms()) {
      const auto sum =
          name == kSoft   ? distill_divergence(logits, teacher_logits, options_.temperature)
          : name == kHard ? class_loss_sum(logits, targets, {})
          : name == kHidden
              ? cosine_distance(states.all, teacher_states.all)
              : attention_divergence(student_recording.recorder, teacher_recording.recorder, pairs);
      losses.push_back(sum * weight);
    }
    return losses;
  }

  /// An image teacher trains a separate distillation classifier, if there is one.
  std::vector<at::Tensor> class_losses(models::Model& model,
                                       const data::Batch& batch,
                                       const nn::ForwardContext& context) const {
    const auto device = context.layout.positions.device();
    const auto logits =
        model.classifier_logits(batching::input_to_device(batch, device), context);  // (B, C) each
    const auto teacher_logits = teacher_class_logits(model, batch, context);
    std::vector<at::Tensor> losses;
    for (const auto& [name, weight] : weighted_terms()) {
      const auto sum = name == kSoft ? distill_loss(logits.back(), teacher_logits)
                                     : class_loss(logits[0], batch);
      losses.push_back(sum * weight);
    }
    return losses;
  }

  at::Tensor teacher_class_logits(models::Model& model,
                                  const data::Batch& batch,
                                  const nn::ForwardContext& context) const {
    const at::NoGradGuard guard;
    auto& teacher = teacher_.model_for(model);
    const auto device = context.layout.positions.device();
    if (!models::reads_images(teacher.options())) {
      return teacher.classify(batching::input_to_device(batch, device), inference_context(context));
    }
    const auto device_batch =
        batching::to_device(with_special_tokens(batch, teacher.options().vision), device);
    return teacher.classify(device_batch.input, device_batch.context);
  }

  /// Distillation loss of a classifier: equations 2 and 3 of arXiv:2012.12877.
  at::Tensor distill_loss(const at::Tensor& logits, const at::Tensor& teacher_logits) const {
    return options_.distillation_type == DistillationType::kSoft
               ? distill_divergence(logits, teacher_logits, options_.temperature)
               : class_loss_sum(logits, teacher_logits.argmax(-1), {});
  }

  at::Tensor class_loss(const at::Tensor& logits, const data::Batch& batch) const {
    const ClassLossOptions shape{.smoothing = options_.label_smoothing};
    return batch.values.empty()
               ? class_loss_sum(logits, kernels::to_device(batch.labels, logits.device()), shape)
               : soft_target_loss_sum(logits, target_values(batch, logits), shape);
  }

  Datasets read_datasets(const DatasetInputs& inputs) const override;

  DistillOptions options_;
  std::unique_ptr<Objective> student_;
  Teacher teacher_;
};

/// A family with a classifier for the teacher uses both.
models::Head DistillObjective::head(const models::ModelOptions& model) const {
  const bool has_both =
      models::reads_images(model) && models::has_head(model.family, models::Head::kDistilledImage);
  return is_classification() && has_both ? models::Head::kDistilledImage : student_->head(model);
}

std::optional<Incompatibility> DistillObjective::incompatibility(
    const models::ModelOptions& model) const {
  if (models::is_baseline(model.family)) {
    return cannot_train(name(), model, "only supports sequence classification and regression");
  }
  const auto wrong = student_->incompatibility(model);
  if (!wrong && options_.alpha_attention > 0 && !has_attention_of_texts(model)) {
    return Incompatibility{"alpha_attention",
                           str_cat(kNeedsAttention, "model.block: ", model.layer_types.block)};
  }
  if (!wrong) {
    return std::nullopt;
  }
  const auto allowed = possible_students(model);
  return allowed.empty() ? cannot_train(name(), model, "supports no student_objective")
                         : Incompatibility{"student_objective",
                                           str_cat(wrong->message, "; ", allowed_are(allowed))};
}

ObjectiveTraits DistillObjective::traits(const models::ModelOptions& model) const {
  auto traits = student_->traits(model);
  traits.is_sequence_level = false;  // folds and rows without a label are not for students
  traits.reads_rows = false;
  traits.reads_sentences = false;
  traits.trains_all_classifiers = false;
  traits.supports_counting = false;
  traits.records_attention = options_.alpha_attention > 0;
  return traits;
}

/// A student in training needs its teacher; one that is only evaluated does not.
void DistillObjective::check_training(const TrainingSetup& setup) const {
  const auto& section = setup.objective_section;
  models::ModelOptions teacher;
  try {
    teacher = models::read_model_config(models::model_directory(options_.teacher));
  } catch (const UserError& error) {
    section.fail("teacher", error.what());
  }
  if (!is_classification() && options_.alpha_cos > 0 && teacher.dim != setup.model.dim) {
    section.fail("alpha_cos",
                 str_cat(options_.alpha_cos, ", but the hidden sizes of student (", setup.model.dim,
                         ") and teacher (", teacher.dim, ") differ, allowed is 0"));
  }
  if (options_.alpha_attention > 0 && !has_attention_of_texts(teacher)) {
    section.fail("alpha_attention",
                 str_cat(kNeedsAttention, "the teacher's block ", teacher.layer_types.block));
  }
}

Datasets DistillObjective::read_datasets(const DatasetInputs& inputs) const {
  if (models::reads_images(inputs.model) && !inputs.data.train.empty()) {
    check_image_normalization(
        options_.teacher,
        batching::image_settings(inputs.model, inputs.data.images, *inputs.tokenizer).format);
  }
  return student_->make_datasets(inputs);
}

}  // namespace

std::unique_ptr<Objective> make_distill(const DistillOptions& options) {
  return std::make_unique<DistillObjective>(options);
}

std::unique_ptr<Objective> read_distill(config::Section& section) {
  return make_distill(read_distill_options(section));
}

}  // namespace weft::objectives
