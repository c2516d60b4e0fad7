#include "objectives/distill_options.h"

#include "objectives/loss/class_options.h"
#include "objectives/masked_lm.h"

namespace weft::objectives {

namespace {

constexpr config::Range kTermWeight = {.min = 0, .max = 1e6};

void read_attention(config::Section& section, DistillOptions& options) {
  static const config::Choices<LayerMap> kPairs = {{"last", LayerMap::kLast},
                                                   {"uniform", LayerMap::kUniform}};
  section.read("alpha_attention", options.alpha_attention,
               {.help = "Weight of the attention distillation loss (KL divergence of the attention "
                        "weights, MiniLM, arXiv:2002.10957), for token-level objectives; teacher "
                        "and student need the same number of heads. 0: off.",
                .range = kTermWeight});
  section.read_choice(
      "layer_map", options.layer_map, kPairs,
      {.help = "Layers for attention distillation. last: the last layer (MiniLM). uniform: every "
               "student layer with the teacher layer at the same relative depth (TinyBERT).",
       .only_if = "alpha_attention above 0"});
}

void check_distill_options(const config::Section& section, const DistillOptions& options) {
  if (options.teacher.empty()) {
    section.report("teacher", "missing, must be a model directory");
  }
  const bool is_classification = options.student_objective == StudentObjective::kClassify;
  if (is_classification && options.alpha_attention > 0) {
    section.report("alpha_attention",
                   "has no effect here, only with a token-level student_objective");
  }
  if (options.alpha_attention == 0 && options.layer_map != LayerMap::kLast) {
    section.report("layer_map", "has no effect here, only with alpha_attention above 0");
  }
  if (!is_classification && options.distillation_type != DistillationType::kSoft) {
    section.report("distillation_type",
                   "has no effect here, only with student_objective: classify");
  }
  if (options.alpha_kd == 0 &&
      (is_classification || options.alpha_cos + options.alpha_attention == 0)) {
    section.report("alpha_kd", "0, so the teacher has no effect: must be above 0");
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
      {.help =
           "Objective of the student besides distillation; it also determines the data format."});
  section.read("teacher", options.teacher,
               {.help = "Teacher model directory. It must have the same tokenizer and the head "
                        "that student_objective requires."});
  section.read(
      "temperature", options.temperature,
      {.help = "Temperature: teacher and student logits are divided by it before the softmax.",
       .range = {.min = 0, .max = 1000, .is_min_exclusive = true}});
  section.read(
      "alpha_kd", options.alpha_kd,
      {.help = "Weight of the distillation loss (KL divergence from the teacher's distribution).",
       .range = kTermWeight});
  section.read("alpha_ce", options.alpha_ce,
               {.help = "Weight of the cross-entropy loss on the labels.", .range = kTermWeight});
  section.read("alpha_cos", options.alpha_cos,
               {.help = "Weight of the cosine loss on the last hidden states, for token-level "
                        "objectives; must be 0 if the hidden sizes differ.",
                .range = kTermWeight});
  read_attention(section, options);
  section.read_choice(
      "distillation_type", options.distillation_type, kAnswers,
      {.help = "Distillation target for classification. soft: the teacher's distribution. hard: "
               "the teacher's predicted class as a label (DeiT, arXiv:2012.12877).",
       .only_if = "student_objective: classify"});
  if (section.is_documenting() || options.student_objective == StudentObjective::kMlm) {
    read_mask_options(section, options.mask);
  }
  if (section.is_documenting() || options.student_objective == StudentObjective::kClassify) {
    read_label_smoothing(section, options.label_smoothing, "student_objective: classify");
    read_positive_label(section, options.positive_label, "student_objective: classify");
  }
  for (const auto* key : {"label_smoothing", "positive_label"}) {
    if (section.has(key) && options.student_objective != StudentObjective::kClassify) {
      section.report(key, "has no effect here, only with student_objective: classify");
    }
  }
  if (section.is_documenting()) {
    return options;
  }
  check_distill_options(section, options);
  return options;
}

}  // namespace weft::objectives
