#include "objectives/loss/class_options.h"

namespace weft::objectives {

namespace {

void read_loss(config::Section& section, ClassOptions& options) {
  read_label_smoothing(section, options.label_smoothing);
  section.read("class_weights", options.class_weights, {"balanced"},
               {.help = "Class weights in the loss, by class name (1 for other classes). balanced: "
                        "rows / (classes * rows of the class). With multi_label: weight of "
                        "positive labels; balanced: negative rows / positive rows of the class.",
                .range = config::above(0)});
  section.read("focal_gamma", options.focal_gamma,
               {.help = "Focal loss gamma (arXiv:1708.02002): scales the loss by (1 - p) ^ gamma, "
                        "where p is the probability of the target, so that easy examples count "
                        "less. 0: plain cross-entropy; 2 is common.",
                .range = config::between(0, 10)});
  if (options.focal_gamma > 0 && options.label_smoothing > 0) {
    section.report("focal_gamma",
                   "cannot be combined with label_smoothing; allowed is one of the two");
  }
}

}  // namespace

void read_label_smoothing(config::Section& section, double& smoothing, std::string_view only_if) {
  section.read(
      "label_smoothing", smoothing,
      {.help = "Label smoothing: probability mass taken from the target and spread evenly over all "
               "classes (with multi_label: over 0 and 1), or over the vocabulary.",
       .range = config::half_open(0, 1),
       .only_if = only_if});
}

void read_positive_label(config::Section& section, std::string& label, std::string_view only_if) {
  section.read(
      "positive_label", label,
      {.help = "The positive one of two classes: precision, recall, F1, ROC, average "
               "precision and the decision threshold are about it. Empty: the rarer one in "
               "the training data. Saved with the checkpoint for predict and evaluate.",
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
               {.help = "Multi-label classification: a text may have any number of classes, each "
                        "decided independently."});
  read_loss(section, options);
  read_positive_label(section, options.positive_label);
  if (options.multi_label && !options.positive_label.empty()) {
    section.fail("positive_label", "has no effect with multi_label: true, omit it");
  }
  section.read("threshold", options.threshold,
               {.help = "Decision threshold: minimum probability to predict a class (the "
                        "positive one of two classes, or each class with multi_label). null: 0.5.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true, .is_max_exclusive = true}});
  section.read_choice(
      "tune_threshold", options.tune_threshold, kMetrics,
      {.help = "Tunes the decision threshold in each evaluation for the best value of this metric "
               "on data.evaluate (with multi_label: over all classes together). The threshold is "
               "saved with the checkpoint for predict and evaluate."});
  if (options.tune_threshold && options.threshold) {
    section.report("tune_threshold",
                   "cannot be combined with threshold, which it would replace; omit one of them");
  }
  return options;
}

}  // namespace weft::objectives
