#include "objectives/loss/class_options.h"

namespace weft::objectives {

namespace {

void read_loss(config::Section& section, ClassOptions& options) {
  read_label_smoothing(section, options.label_smoothing);
  section.read("class_weights", options.class_weights, {"balanced"},
               {.help = "What a class counts in the loss, by its name (others count 1); balanced: "
                        "rows / (classes * rows of the class). With multi_label, what a yes counts "
                        "against a no; balanced: rows without the class / rows with it.",
                .range = config::above(0)});
  section.read("focal_gamma", options.focal_gamma,
               {.help = "Focal loss: each target counts (1 - its probability) ^ gamma, so that the "
                        "easy ones fade; 0 is the plain loss, 2 is usual.",
                .range = config::between(0, 10)});
  if (options.focal_gamma > 0 && options.label_smoothing > 0) {
    section.fail("focal_gamma",
                 "cannot be combined with label_smoothing; allowed is one of the two");
  }
}

}  // namespace

void read_label_smoothing(config::Section& section, double& smoothing, std::string_view only_if) {
  section.read("label_smoothing", smoothing,
               {.help = "Share of the target's probability that is spread over all classes (with "
                        "multi_label: over yes and no), or over the whole vocabulary.",
                .range = config::half_open(0, 1),
                .only_if = only_if});
}

ClassOptions read_class_options(config::Section& section) {
  static const config::Choices<std::optional<metrics::ThresholdMetric>> kMetrics = {
      {"none", std::nullopt},
      {"f1", metrics::ThresholdMetric::kF1},
      {"accuracy", metrics::ThresholdMetric::kAccuracy},
      {"matthews_correlation", metrics::ThresholdMetric::kMatthews}};
  ClassOptions options;
  section.read("multi_label", options.multi_label,
               {.help = "Whether a text may belong to any number of classes, each decided by "
                        "itself."});
  read_loss(section, options);
  section.read("threshold", options.threshold,
               {.help = "Probability from which a class is found: the second of two classes, or "
                        "each one with multi_label; null is 0.5.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true, .is_max_exclusive = true}});
  section.read_choice("tune_threshold", options.tune_threshold, kMetrics,
                      {.help = "Each evaluation of the training finds the threshold with the best "
                               "figure of this name (with multi_label over all classes together) "
                               "on data.evaluate and keeps it with the checkpoint, for predict and "
                               "evaluate."});
  if (options.tune_threshold && options.threshold) {
    section.fail("tune_threshold",
                 "cannot be combined with threshold, which it would replace; omit one of them");
  }
  return options;
}

}  // namespace weft::objectives
