#include "objectives/distill.h"

#include <mutex>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "base/text.h"
#include "kernels/linear.h"
#include "kernels/total.h"
#include "models/directory.h"
#include "models/inference.h"
#include "objectives/hidden_states.h"
#include "objectives/rows.h"

namespace weft::objectives {

namespace {

constexpr const char* kSoft = "soft";
constexpr const char* kHard = "hard";
constexpr const char* kHidden = "hidden";

/// A model that is only asked, on the device and in the number format of the one that learns.
class Teacher {
 public:
  explicit Teacher(std::string path) : path_(std::move(path)) {}

  models::Model& like(const models::Model& student) const {
    std::call_once(loaded_, [&] { load(student); });
    return *model_;
  }

 private:
  void load(const models::Model& student) const {
    const auto directory = models::model_directory(path_);
    auto options = models::read_model_config(directory);
    const auto& own = student.options();
    if (options.vocabulary != own.vocabulary) {
      throw UserError(text("objective.teacher: ", path_, " has ", options.vocabulary,
                           " ids, the student ", own.vocabulary,
                           ": they must have the same tokenizer"));
    }
    if (own.head == models::Head::kSequence && options.labels != own.labels) {
      throw UserError(text("objective.teacher: ", path_, " knows the classes ",
                           join(options.labels), ", the data have ", join(own.labels)));
    }
    options.head = own.head;
    auto loaded = models::load_model(directory, options, 0);
    if (!loaded.fresh.empty()) {
      throw UserError(
          text("objective.teacher: ", path_, " has no weights for ", join(loaded.fresh)));
    }
    const auto parameter = student.named_parameters().values().front();
    models::prepare_for_inference(*loaded.model,
                                  {.device = parameter.device(), .type = parameter.scalar_type()});
    model_ = loaded.model;
  }

  std::string path_;
  mutable std::once_flag loaded_;
  mutable std::shared_ptr<models::Model> model_;
};

/// T^2 KL(teacher || student), summed over rows.
at::Tensor divergence(const at::Tensor& student, const at::Tensor& teacher, double temperature) {
  const auto said = at::log_softmax(student.to(at::kFloat) / temperature, -1);  // (M, C)
  const auto wanted = at::log_softmax(teacher.to(at::kFloat) / temperature, -1);
  return kernels::total((wanted.exp() * (wanted - said)).sum(-1)) * (temperature * temperature);
}

/// 1 - cos, summed over rows.
at::Tensor distance(const at::Tensor& student, const at::Tensor& teacher) {
  if (student.size(-1) != teacher.size(-1)) {
    throw UserError(text("objective.hidden_weight: hidden states of ", student.size(-1),
                         " and the teacher's of ", teacher.size(-1),
                         " features cannot be compared, allowed is 0"));
  }
  return kernels::total(
      1 - at::cosine_similarity(student.to(at::kFloat), teacher.to(at::kFloat), -1, 1e-8));
}

at::Tensor word_logits(models::Model& model, const at::Tensor& rows) {
  return kernels::linear(model.token_features(rows), model.output_weight(), model.output_bias());
}

class DistillObjective : public Objective {
 public:
  explicit DistillObjective(const ObjectiveOptions& options)
      : options_(options.distill),
        task_(make_objective(task_of(options))),
        teacher_(options.distill.teacher) {}

  models::Head head() const override { return task_->head(); }

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
      counts.push_back(name == kHidden ? batch.tokens() : task_->counts(batch).front());
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
    }
    std::erase_if(all, [](const Part& part) { return part.weight == 0; });
    return all;
  }

  static nn::Pass asked(nn::Pass pass) {
    pass.is_training = false;
    pass.recomputes_layers = false;
    return pass;
  }

  std::vector<at::Tensor> word_losses(models::Model& model,
                                      const data::Batch& batch,
                                      const nn::Pass& pass) const {
    const auto states = hidden_states(model, batch, pass);  // (N, D)
    if (batch.targets.empty()) {
      return std::vector<at::Tensor>(parts().size(), no_loss(states));
    }
    const auto places = on_device(batch.target_rows, states.device());
    at::Tensor taught;
    at::Tensor said;
    {
      const at::NoGradGuard guard;
      auto& teacher = teacher_.like(model);
      taught = hidden_states(teacher, batch, asked(pass));
      said = word_logits(teacher, taught.index_select(0, places));  // (M, V)
    }
    const auto logits = word_logits(model, states.index_select(0, places));
    std::vector<at::Tensor> losses;
    for (const auto& [name, weight] : parts()) {
      const auto sum = name == kSoft   ? divergence(logits, said, options_.temperature)
                       : name == kHard ? right_answers(logits, batch.targets)
                                       : distance(states, taught);
      losses.push_back(sum * weight);
    }
    return losses;
  }

  std::vector<at::Tensor> class_losses(models::Model& model,
                                       const data::Batch& batch,
                                       const nn::Pass& pass) const {
    const auto device = pass.layout.positions.device();
    const auto logits = model.classify(stage_input(batch, device), pass);  // (B, C)
    at::Tensor said;
    {
      const at::NoGradGuard guard;
      said = teacher_.like(model).classify(stage_input(batch, device), asked(pass));
    }
    std::vector<at::Tensor> losses;
    for (const auto& [name, weight] : parts()) {
      const auto sum = name == kSoft ? divergence(logits, said, options_.temperature)
                                     : right_answers(logits, batch.labels);
      losses.push_back(sum * weight);
    }
    return losses;
  }

  static at::Tensor right_answers(const at::Tensor& logits, const std::vector<int64_t>& targets) {
    const auto said = at::log_softmax(logits.to(at::kFloat), -1);
    const auto right = on_device(targets, logits.device()).unsqueeze(1);
    return kernels::total(-said.gather(1, right).squeeze(1));
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

void read_distill_options(config::Section& section, DistillOptions& options) {
  static const config::Choices<DistilledTask> kTasks = {{"mlm", DistilledTask::kMlm},
                                                        {"causal", DistilledTask::kCausal},
                                                        {"classify", DistilledTask::kClassify}};
  constexpr std::string_view kOnly = "type: distill";
  constexpr config::Range kWeight = {.min = 0, .max = 1e6};
  section.read_choice(
      "task", options.task, kTasks,
      {.help = "What the student learns beside what its teacher says; which data it "
               "reads.",
       .only = kOnly});
  section.read("teacher", options.teacher,
               {.help = "Model directory of the teacher: of the same tokenizer, with the head that "
                        "the task needs. The student is to be smaller.",
                .only = kOnly});
  section.read("temperature", options.temperature,
               {.help = "What both logits are divided by before the distributions are compared.",
                .range = {.min = 0, .max = 1000, .excludes_min = true},
                .only = kOnly});
  section.read("soft_weight", options.soft_weight,
               {.help = "Weight of the divergence from the teacher's distribution.",
                .range = kWeight,
                .only = kOnly});
  section.read("hard_weight", options.hard_weight,
               {.help = "Weight of the cross-entropy of the right answers.",
                .range = kWeight,
                .only = kOnly});
  section.read(
      "hidden_weight", options.hidden_weight,
      {.help = "Weight of the cosine distance of the last hidden states, where the task is "
               "of tokens; 0 where the widths differ.",
       .range = kWeight,
       .only = kOnly});
  if (section.is_describing()) {
    return;
  }
  if (options.teacher.empty()) {
    section.fail("teacher", "missing, must be a model directory");
  }
  if (options.soft_weight == 0 &&
      (options.task == DistilledTask::kClassify || options.hidden_weight == 0)) {
    section.fail("soft_weight", "0, so that the teacher says nothing: must be more");
  }
}

std::unique_ptr<Objective> make_distill_objective(const ObjectiveOptions& options) {
  return std::make_unique<DistillObjective>(options);
}

}  // namespace weft::objectives
