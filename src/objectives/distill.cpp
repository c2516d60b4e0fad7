#include "objectives/distill.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "batching/token_metrics.h"
#include "kernels/deterministic_sum.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "models/config/family_definition.h"
#include "objectives/evaluation/eval_prediction.h"
#include "objectives/loss/attention_distillation.h"
#include "objectives/loss/class_loss.h"
#include "objectives/loss/class_options.h"
#include "objectives/loss/teacher.h"

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

at::Tensor lm_logits(models::Model& model, const at::Tensor& rows) {
  return kernels::linear(model.token_features(rows), model.output_weight(), model.output_bias());
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

class DistillObjective : public Objective {
 public:
  explicit DistillObjective(const ObjectiveOptions& options)
      : options_(options.distill),
        student_objective_(make_objective(student_objective_options(options))),
        teacher_(options.distill.teacher) {}

  /// Uses a head with a distillation classifier if the family has one.
  models::Head head() const override {
    return is_classification() ? models::Head::kDistilledImage : student_objective_->head();
  }

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
      counts.push_back(is_of_tokens ? batch.tokens() : student_objective_->counts(batch).front());
    }
    return counts;
  }

  void init_from_data(const Datasets& data) override { student_objective_->init_from_data(data); }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    return is_classification() ? class_losses(model, batch, context)
                               : token_losses(model, batch, context);
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return student_objective_->evaluation();
  }
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    return student_objective_->sample_example(model, length);
  }
  std::string metric_for_best_model() const override {
    return student_objective_->metric_for_best_model();
  }

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
    at::Tensor targets;   // (M, D)
    at::Tensor all = {};  // (N, D), if a term compares them
  };
  States states_of(models::Model& model,
                   const data::Batch& batch,
                   const nn::ForwardContext& context) const {
    if (options_.alpha_cos == 0) {
      return {.targets = batching::target_states(model, batch, context)};
    }
    const auto all = batching::hidden_states(model, batch, context);
    const auto rows = kernels::to_device(batch.target_rows, all.device());
    return {.targets = all.index_select(0, rows), .all = all};
  }

  std::vector<at::Tensor> token_losses(models::Model& model,
                                       const data::Batch& batch,
                                       const nn::ForwardContext& context) const {
    auto& teacher = teacher_.model_for(model);
    const auto pairs = compared_layers(model, teacher);
    RecordingContext student_recording(context, pairs, [](const auto& pair) { return pair.first; });
    const auto states = states_of(model, batch, student_recording.context);
    if (batch.targets.empty()) {
      return std::vector<at::Tensor>(weighted_terms().size(), batching::zero_loss(states.targets));
    }
    const auto targets = kernels::to_device(batch.targets, states.targets.device());
    RecordingContext teacher_recording(inference_context(context), pairs,
                                       [](const auto& pair) { return pair.second; });
    States teacher_states;
    at::Tensor teacher_logits;
    {
      const at::NoGradGuard guard;
      teacher_states = states_of(teacher, batch, teacher_recording.context);
      teacher_logits = lm_logits(teacher, teacher_states.targets);  // (M, V)
    }
    const auto logits = lm_logits(model, states.targets);
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

  DistillOptions options_;
  std::unique_ptr<Objective> student_objective_;
  Teacher teacher_;
};

}  // namespace

ObjectiveOptions student_objective_options(const ObjectiveOptions& distillation) {
  auto task = distillation;
  switch (distillation.distill.student_objective) {
    case StudentObjective::kMlm:
      task.type = ObjectiveType::kMlm;
      break;
    case StudentObjective::kCausal:
      task.type = ObjectiveType::kCausal;
      break;
    case StudentObjective::kClassify:
      task.type = ObjectiveType::kClassify;
      break;
  }
  return task;
}

namespace {

constexpr std::string_view kDistillOnly = "type: distill";
constexpr config::Range kWeight = {.min = 0, .max = 1e6};

void read_attention(config::Section& section, DistillOptions& options) {
  static const config::Choices<LayerMap> kPairs = {{"last", LayerMap::kLast},
                                                   {"uniform", LayerMap::kUniform}};
  section.read("alpha_attention", options.alpha_attention,
               {.help = "Weight of the attention distillation loss (KL divergence of the attention "
                        "weights, MiniLM, arXiv:2002.10957), for token-level objectives; teacher "
                        "and student need the same number of heads. 0: off.",
                .range = kWeight,
                .only_if = kDistillOnly});
  section.read_choice(
      "layer_map", options.layer_map, kPairs,
      {.help = "Layers for attention distillation. last: the last layer (MiniLM). uniform: every "
               "student layer with the teacher layer at the same relative depth (TinyBERT).",
       .only_if = "alpha_attention above 0"});
}

void check(const config::Section& section, const DistillOptions& options) {
  if (options.teacher.empty()) {
    section.fail("teacher", "missing, must be a model directory");
  }
  const bool is_classification = options.student_objective == StudentObjective::kClassify;
  if (is_classification && options.alpha_attention > 0) {
    section.fail("alpha_attention",
                 "has no effect here, only with a token-level student_objective");
  }
  if (options.alpha_attention == 0 && options.layer_map != LayerMap::kLast) {
    section.fail("layer_map", "has no effect here, only with alpha_attention above 0");
  }
  if (!is_classification && options.distillation_type != DistillationType::kSoft) {
    section.fail("distillation_type", "has no effect here, only with student_objective: classify");
  }
  if (options.alpha_kd == 0 &&
      (is_classification || options.alpha_cos + options.alpha_attention == 0)) {
    section.fail("alpha_kd", "0, so the teacher has no effect: must be above 0");
  }
}

}  // namespace

void read_distill_options(config::Section& section, DistillOptions& options) {
  static const config::Choices<StudentObjective> kTasks = {
      {"mlm", StudentObjective::kMlm},
      {"causal", StudentObjective::kCausal},
      {"classify", StudentObjective::kClassify}};
  static const config::Choices<DistillationType> kAnswers = {{"soft", DistillationType::kSoft},
                                                             {"hard", DistillationType::kHard}};
  section.read_choice(
      "student_objective", options.student_objective, kTasks,
      {.help = "Objective of the student besides distillation; it also determines the data format.",
       .only_if = kDistillOnly});
  section.read("teacher", options.teacher,
               {.help = "Teacher model directory. It must have the same tokenizer and the head "
                        "that student_objective requires.",
                .only_if = kDistillOnly});
  section.read(
      "temperature", options.temperature,
      {.help = "Temperature: teacher and student logits are divided by it before the softmax.",
       .range = {.min = 0, .max = 1000, .is_min_exclusive = true},
       .only_if = kDistillOnly});
  section.read(
      "alpha_kd", options.alpha_kd,
      {.help = "Weight of the distillation loss (KL divergence from the teacher's distribution).",
       .range = kWeight,
       .only_if = kDistillOnly});
  section.read("alpha_ce", options.alpha_ce,
               {.help = "Weight of the cross-entropy loss on the labels.",
                .range = kWeight,
                .only_if = kDistillOnly});
  section.read("alpha_cos", options.alpha_cos,
               {.help = "Weight of the cosine loss on the last hidden states, for token-level "
                        "objectives. Default: 0 if the hidden sizes differ.",
                .range = kWeight,
                .only_if = kDistillOnly});
  read_attention(section, options);
  section.read_choice(
      "distillation_type", options.distillation_type, kAnswers,
      {.help = "Distillation target for classification. soft: the teacher's distribution. hard: "
               "the teacher's predicted class as a label (DeiT, arXiv:2012.12877).",
       .only_if = "student_objective: classify"});
  if (section.is_documenting()) {
    return;
  }
  if (options.student_objective == StudentObjective::kClassify) {
    read_label_smoothing(section, options.label_smoothing);
  } else if (section.has("label_smoothing")) {
    section.fail("label_smoothing", "has no effect here, only with student_objective: classify");
  }
  check(section, options);
}

std::unique_ptr<Objective> make_distill_objective(const ObjectiveOptions& options) {
  return std::make_unique<DistillObjective>(options);
}

}  // namespace weft::objectives
