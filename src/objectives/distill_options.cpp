#include "objectives/distill_options.h"

#include "objectives/loss/class_options.h"
#include "objectives/mask_options.h"

namespace weft::objectives {

namespace {

constexpr config::Range kTermWeight = {.min = 0, .max = 1e6};

void read_attention(config::Section& section, DistillOptions& options) {
  static const config::Choices<LayerMap> kPairs = {{"last", LayerMap::kLast},
                                                   {"uniform", LayerMap::kUniform}};
  section.read("alpha_attention", options.alpha_attention,
               {.help = "Weight of the divergence from the teacher's attention, of as many heads "
                        "(MiniLM, arXiv:2002.10957), where the task is of tokens; 0: none.",
                .range = kTermWeight});
  section.read_choice(
      "layer_map", options.layer_map, kPairs,
      {.help = "Whose attention is compared: last (the last layers, MiniLM), uniform (every layer "
               "of the student with the teacher's of the same relative depth, TinyBERT).",
       .only_if = "alpha_attention above 0"});
}

void check_distill_options(const config::Section& section, const DistillOptions& options) {
  if (options.teacher.empty()) {
    section.fail("teacher", "missing, must be a model directory");
  }
  const bool is_classification = options.student_objective == StudentObjective::kClassify;
  if (is_classification && options.alpha_attention > 0) {
    section.fail("alpha_attention", "has no effect here, only where the task is of tokens");
  }
  if (options.alpha_attention == 0 && options.layer_map != LayerMap::kLast) {
    section.fail("layer_map", "has no effect here, only with alpha_attention above 0");
  }
  if (!is_classification && options.distillation_type != DistillationType::kSoft) {
    section.fail("distillation_type", "has no effect here, only with student_objective: classify");
  }
  if (options.alpha_kd == 0 &&
      (is_classification || options.alpha_cos + options.alpha_attention == 0)) {
    section.fail("alpha_kd", "0, so that the teacher says nothing: must be more");
  }
}

}  // namespace

DistillOptions read_distill_options(config::Section& section) {
  DistillOptions options;
  static const config::Choices<StudentObjective> kTasks = {
      {"mlm", StudentObjective::kMlm},
      {"causal", StudentObjective::kCausal},
      {"classify", StudentObjective::kClassify}};
  static const config::Choices<DistillationType> kAnswers = {{"soft", DistillationType::kSoft},
                                                             {"hard", DistillationType::kHard}};
  section.read_choice(
      "student_objective", options.student_objective, kTasks,
      {.help = "What the student learns beside what its teacher says; which data it "
               "reads."});
  section.read("teacher", options.teacher,
               {.help = "Model directory of the teacher: of the same tokenizer, with the head that "
                        "the task needs. The student is to be smaller."});
  section.read("temperature", options.temperature,
               {.help = "What both logits are divided by before the distributions are compared.",
                .range = {.min = 0, .max = 1000, .is_min_exclusive = true}});
  section.read(
      "alpha_kd", options.alpha_kd,
      {.help = "Weight of the divergence from the teacher's distribution.", .range = kTermWeight});
  section.read("alpha_ce", options.alpha_ce,
               {.help = "Weight of the cross-entropy of the right answers.", .range = kTermWeight});
  section.read(
      "alpha_cos", options.alpha_cos,
      {.help = "Weight of the cosine distance of the last hidden states, where the task is "
               "of tokens; 0 where the widths differ.",
       .range = kTermWeight});
  read_attention(section, options);
  section.read_choice(
      "distillation_type", options.distillation_type, kAnswers,
      {.help = "What a classifier learns of its teacher: soft (its distribution), hard (its "
               "likeliest class, as if it were right; DeiT, arXiv:2012.12877).",
       .only_if = "student_objective: classify"});
  if (section.is_documenting() || options.student_objective == StudentObjective::kMlm) {
    read_mask_options(section, options.mask);
  }
  if (section.is_documenting() || options.student_objective == StudentObjective::kClassify) {
    read_label_smoothing(section, options.label_smoothing, "student_objective: classify");
  } else if (section.has("label_smoothing")) {
    section.fail("label_smoothing", "has no effect here, only with student_objective: classify");
  }
  if (section.is_documenting()) {
    return options;
  }
  check_distill_options(section, options);
  return options;
}

}  // namespace weft::objectives
