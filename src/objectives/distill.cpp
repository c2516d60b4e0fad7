#include "objectives/distill.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "base/text.h"
#include "batching/hidden_states.h"
#include "batching/rows.h"
#include "batching/stage.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "kernels/total.h"
#include "models/config/family_definition.h"
#include "objectives/evaluation/seen.h"
#include "objectives/loss/attention_distance.h"
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
  const auto said = at::log_softmax(student.to(at::kFloat) / temperature, -1);  // (M, C)
  const auto wanted = at::log_softmax(teacher.to(at::kFloat) / temperature, -1);
  return kernels::total((wanted.exp() * (wanted - said)).sum(-1)) * (temperature * temperature);
}

/// 1 - cos, summed over rows, which are equally long: the config is checked for that.
at::Tensor distance(const at::Tensor& student, const at::Tensor& teacher) {
  return kernels::total(
      1 - at::cosine_similarity(student.to(at::kFloat), teacher.to(at::kFloat), -1, 1e-8));
}

at::Tensor word_logits(models::Model& model, const at::Tensor& rows) {
  return kernels::linear(model.token_features(rows), model.output_weight(), model.output_bias());
}

/// A pass whose attention is looked at, in the layers that the pairs name.
struct Watched {
  template <class Side>
  Watched(const nn::Pass& plain, const LayerPairs& pairs, const Side& side)
      : trace(layers_of(pairs, side)), pass(plain) {
    pass.trace = pairs.empty() ? nullptr : &trace;
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  nn::AttentionTrace trace;
  nn::Pass pass;

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
        task_(make_objective(task_of(options))),
        teacher_(options.distill.teacher) {}

  /// Where a family has a classifier of images that a teacher teaches, it is wanted.
  models::Head head() const override {
    return classifies() ? models::Head::kTaughtImage : task_->head();
  }

  std::vector<std::string> terms() const override {
    std::vector<std::string> names;
    for (const auto& [name, weight] : parts()) {
      names.emplace_back(name);
    }
    return names;
  }

  std::vector<int64_t> counts(const data::Batch& batch) const override {
    std::vector<int64_t> counts;
    for (const auto& [name, weight] : parts()) {
      const bool is_of_tokens = name == kHidden || name == kAttention;
      counts.push_back(is_of_tokens ? batch.tokens() : task_->counts(batch).front());
    }
    return counts;
  }

  void learn_from(const TaskData& data) override { task_->learn_from(data); }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::Pass& pass) const override {
    return classifies() ? class_losses(model, batch, pass) : word_losses(model, batch, pass);
  }

  std::unique_ptr<Evaluation> evaluation() const override { return task_->evaluation(); }
  std::string best_by() const override { return task_->best_by(); }

 private:
  struct Part {
    const char* name;
    double weight;
  };
  bool classifies() const { return options_.task == DistilledTask::kClassify; }

  std::vector<Part> parts() const {
    std::vector<Part> all = {{kSoft, options_.soft_weight}, {kHard, options_.hard_weight}};
    if (!classifies()) {
      all.push_back({kHidden, options_.hidden_weight});
      all.push_back({kAttention, options_.attention_weight});
    }
    std::erase_if(all, [](const Part& part) { return part.weight == 0; });
    return all;
  }

  static nn::Pass asked(nn::Pass pass) {
    pass.is_training = false;
    pass.recomputes_layers = false;
    return pass;
  }

  /// The layers whose attention is looked at, of the student and of the teacher.
  LayerPairs compared_layers(const models::Model& student, const models::Model& teacher) const {
    return options_.attention_weight == 0
               ? LayerPairs{}
               : layer_pairs(options_.attention_layers, student.options().layers,
                             teacher.options().layers);
  }

  /// The last hidden states that the parts look at.
  struct States {
    at::Tensor targets;   // (M, D)
    at::Tensor all = {};  // (N, D), if a part compares them
  };
  States states_of(models::Model& model, const data::Batch& batch, const nn::Pass& pass) const {
    if (options_.hidden_weight == 0) {
      return {.targets = batching::target_states(model, batch, pass)};
    }
    const auto all = batching::hidden_states(model, batch, pass);
    const auto rows = kernels::to_device(batch.target_rows, all.device());
    return {.targets = all.index_select(0, rows), .all = all};
  }

  std::vector<at::Tensor> word_losses(models::Model& model,
                                      const data::Batch& batch,
                                      const nn::Pass& pass) const {
    auto& teacher = teacher_.like(model);
    const auto pairs = compared_layers(model, teacher);
    Watched own(pass, pairs, [](const auto& pair) { return pair.first; });
    const auto states = states_of(model, batch, own.pass);
    if (batch.targets.empty()) {
      return std::vector<at::Tensor>(parts().size(), batching::no_loss(states.targets));
    }
    const auto targets = kernels::to_device(batch.targets, states.targets.device());
    Watched other(asked(pass), pairs, [](const auto& pair) { return pair.second; });
    States taught;
    at::Tensor said;
    {
      const at::NoGradGuard guard;
      taught = states_of(teacher, batch, other.pass);
      said = word_logits(teacher, taught.targets);  // (M, V)
    }
    const auto logits = word_logits(model, states.targets);
    std::vector<at::Tensor> losses;
    for (const auto& [name, weight] : parts()) {
      const auto sum = name == kSoft     ? distill_divergence(logits, said, options_.temperature)
                       : name == kHard   ? class_loss_sum(logits, targets, {})
                       : name == kHidden ? distance(states.all, taught.all)
                                         : attention_divergence(own.trace, other.trace, pairs);
      losses.push_back(sum * weight);
    }
    return losses;
  }

  /// A teacher of images teaches a classifier of its own, where there is one.
  std::vector<at::Tensor> class_losses(models::Model& model,
                                       const data::Batch& batch,
                                       const nn::Pass& pass) const {
    const auto device = pass.layout.positions.device();
    const auto logits =
        model.classifiers(batching::stage_input(batch, device), pass);  // (B, C) each
    const auto said = teachers_logits(model, batch, pass);
    std::vector<at::Tensor> losses;
    for (const auto& [name, weight] : parts()) {
      const auto sum = name == kSoft ? lesson(logits.back(), said) : class_loss(logits[0], batch);
      losses.push_back(sum * weight);
    }
    return losses;
  }

  at::Tensor teachers_logits(models::Model& model,
                             const data::Batch& batch,
                             const nn::Pass& pass) const {
    const at::NoGradGuard guard;
    auto& teacher = teacher_.like(model);
    const auto device = pass.layout.positions.device();
    if (!models::reads_images(teacher.options())) {
      return teacher.classify(batching::stage_input(batch, device), asked(pass));
    }
    const auto staged = batching::stage(with_own_tokens(batch, teacher.options().vision), device);
    return teacher.classify(staged.input, staged.pass);
  }

  /// What the teacher's answer costs a classifier: equations 2 and 3 of arXiv:2012.12877.
  at::Tensor lesson(const at::Tensor& logits, const at::Tensor& said) const {
    return options_.teacher_answer == TeacherAnswer::kSoft
               ? distill_divergence(logits, said, options_.temperature)
               : class_loss_sum(logits, said.argmax(-1), {});
  }

  at::Tensor class_loss(const at::Tensor& logits, const data::Batch& batch) const {
    const LossShape shape{.smoothing = options_.label_smoothing};
    return batch.values.empty()
               ? class_loss_sum(logits, kernels::to_device(batch.labels, logits.device()), shape)
               : mixed_class_loss_sum(logits, wanted_values(batch, logits), shape);
  }

  DistillOptions options_;
  std::unique_ptr<Objective> task_;
  Teacher teacher_;
};

}  // namespace

ObjectiveOptions task_of(const ObjectiveOptions& distillation) {
  auto task = distillation;
  switch (distillation.distill.task) {
    case DistilledTask::kMlm:
      task.type = ObjectiveType::kMlm;
      break;
    case DistilledTask::kCausal:
      task.type = ObjectiveType::kCausal;
      break;
    case DistilledTask::kClassify:
      task.type = ObjectiveType::kClassify;
      break;
  }
  return task;
}

namespace {

constexpr std::string_view kDistillOnly = "type: distill";
constexpr config::Range kWeight = {.min = 0, .max = 1e6};

void read_attention(config::Section& section, DistillOptions& options) {
  static const config::Choices<AttentionPairs> kPairs = {{"last", AttentionPairs::kLast},
                                                         {"uniform", AttentionPairs::kUniform}};
  section.read("attention_weight", options.attention_weight,
               {.help = "Weight of the divergence from the teacher's attention, of as many heads "
                        "(MiniLM, arXiv:2002.10957), where the task is of tokens; 0: none.",
                .range = kWeight,
                .only = kDistillOnly});
  section.read_choice(
      "attention_layers", options.attention_layers, kPairs,
      {.help = "Whose attention is compared: last (the last layers, MiniLM), uniform (every layer "
               "of the student with the teacher's of the same relative depth, TinyBERT).",
       .only = "attention_weight above 0"});
}

void check(const config::Section& section, const DistillOptions& options) {
  if (options.teacher.empty()) {
    section.fail("teacher", "missing, must be a model directory");
  }
  const bool classifies = options.task == DistilledTask::kClassify;
  if (classifies && options.attention_weight > 0) {
    section.fail("attention_weight", "has no effect here, only where the task is of tokens");
  }
  if (options.attention_weight == 0 && options.attention_layers != AttentionPairs::kLast) {
    section.fail("attention_layers", "has no effect here, only with attention_weight above 0");
  }
  if (!classifies && options.teacher_answer != TeacherAnswer::kSoft) {
    section.fail("teacher_answer", "has no effect here, only with task: classify");
  }
  if (options.soft_weight == 0 &&
      (classifies || options.hidden_weight + options.attention_weight == 0)) {
    section.fail("soft_weight", "0, so that the teacher says nothing: must be more");
  }
}

}  // namespace

void read_distill_options(config::Section& section, DistillOptions& options) {
  static const config::Choices<DistilledTask> kTasks = {{"mlm", DistilledTask::kMlm},
                                                        {"causal", DistilledTask::kCausal},
                                                        {"classify", DistilledTask::kClassify}};
  static const config::Choices<TeacherAnswer> kAnswers = {{"soft", TeacherAnswer::kSoft},
                                                          {"hard", TeacherAnswer::kHard}};
  section.read_choice(
      "task", options.task, kTasks,
      {.help = "What the student learns beside what its teacher says; which data it "
               "reads.",
       .only = kDistillOnly});
  section.read("teacher", options.teacher,
               {.help = "Model directory of the teacher: of the same tokenizer, with the head that "
                        "the task needs. The student is to be smaller.",
                .only = kDistillOnly});
  section.read("temperature", options.temperature,
               {.help = "What both logits are divided by before the distributions are compared.",
                .range = {.min = 0, .max = 1000, .excludes_min = true},
                .only = kDistillOnly});
  section.read("soft_weight", options.soft_weight,
               {.help = "Weight of the divergence from the teacher's distribution.",
                .range = kWeight,
                .only = kDistillOnly});
  section.read("hard_weight", options.hard_weight,
               {.help = "Weight of the cross-entropy of the right answers.",
                .range = kWeight,
                .only = kDistillOnly});
  section.read(
      "hidden_weight", options.hidden_weight,
      {.help = "Weight of the cosine distance of the last hidden states, where the task is "
               "of tokens; 0 where the widths differ.",
       .range = kWeight,
       .only = kDistillOnly});
  read_attention(section, options);
  section.read_choice(
      "teacher_answer", options.teacher_answer, kAnswers,
      {.help = "What a classifier learns of its teacher: soft (its distribution), hard (its "
               "likeliest class, as if it were right; DeiT, arXiv:2012.12877).",
       .only = "task: classify"});
  if (section.is_describing()) {
    return;
  }
  if (options.task == DistilledTask::kClassify) {
    read_label_smoothing(section, options.label_smoothing);
  } else if (section.has("label_smoothing")) {
    section.fail("label_smoothing", "has no effect here, only with task: classify");
  }
  check(section, options);
}

std::unique_ptr<Objective> make_distill_objective(const ObjectiveOptions& options) {
  return std::make_unique<DistillObjective>(options);
}

}  // namespace weft::objectives
