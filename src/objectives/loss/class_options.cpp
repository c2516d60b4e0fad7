#include "objectives/loss/class_options.h"

#include <string_view>

namespace weft::objectives {

namespace {

constexpr std::string_view kClassifyOnly = "type: classify";

void read_loss(config::Section& section, ClassOptions& options) {
  read_label_smoothing(section, options.label_smoothing);
  section.read("class_weights", options.class_weights, {"balanced"},
               {.help = "What a class counts in the loss, by its name (others count 1); balanced: "
                        "rows / (classes * rows of the class). With multi_label, what a yes counts "
                        "against a no; balanced: rows without the class / rows with it.",
                .range = config::above(0),
                .only = kClassifyOnly});
  section.read("focal_gamma", options.focal_gamma,
               {.help = "Focal loss: each target counts (1 - its probability) ^ gamma, so that the "
                        "easy ones fade; 0 is the plain loss, 2 is usual.",
                .range = config::between(0, 10),
                .only = kClassifyOnly});
  if (options.focal_gamma > 0 && options.label_smoothing > 0) {
    section.fail("focal_gamma",
                 "together with label_smoothing, which has no one probability that fades; allowed "
                 "is one of the two");
  }
}

}  // namespace

void read_label_smoothing(config::Section& section, double& smoothing) {
  section.read("label_smoothing", smoothing,
               {.help = "Share of the target's probability that is spread over all classes (with "
                        "multi_label: over yes and no), or over the whole vocabulary.",
                .range = config::from_to_below(0, 1),
                .only = "type: classify or seq2seq, or task: classify of a distillation"});
}

ClassOptions read_class_options(config::Section& section) {
  static const config::Choices<std::optional<metrics::ThresholdGoal>> kGoals = {
      {"none", std::nullopt},
      {"f1", metrics::ThresholdGoal::kF1},
      {"accuracy", metrics::ThresholdGoal::kAccuracy},
      {"matthews_correlation", metrics::ThresholdGoal::kMatthews}};
  ClassOptions options;
  section.read("multi_label", options.multi_label,
               {.help = "Whether a text may belong to any number of classes, each decided by "
                        "itself.",
                .only = kClassifyOnly});
  read_loss(section, options);
  section.read("threshold", options.threshold,
               {.help = "Probability from which a class is found: the second of two classes, or "
                        "each one with multi_label; null is 0.5.",
                .range = {.min = 0, .max = 1, .excludes_min = true, .excludes_max = true},
                .only = kClassifyOnly});
  section.read_choice("tune_threshold", options.tunes_threshold, kGoals,
                      {.help = "Each evaluation of the training finds the threshold with the best "
                               "figure of this name (with multi_label over all classes together) "
                               "on data.evaluate and keeps it with the checkpoint, for predict and "
                               "evaluate.",
                       .only = kClassifyOnly});
  if (options.tunes_threshold && options.threshold) {
    section.fail("tune_threshold",
                 "together with threshold, which it would replace; leave one "
                 "of the two out");
  }
  return options;
}

}  // namespace weft::objectives
