#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/section.h"
#include "metrics/ranking_metrics.h"

namespace weft::objectives {

/// Options of type classify.
struct ClassOptions {
  bool multi_label = false;  // an independent binary decision per class
  double label_smoothing = 0;
  config::NamedNumbers class_weights = {};  // or the word `balanced`
  double focal_gamma = 0;
  std::string positive_label = {};  // of two classes; empty: the rarer one in the training data
  // For two classes and multi_label: the probability from which a class is predicted. nullopt: 0.5
  // (two classes: the likelier one).
  std::optional<double> threshold = {};
  std::optional<metrics::ThresholdMetric> tune_threshold = {};  // nullopt: it is not tuned
  double r_drop = 0;  // weight of R-Drop's divergence; 0: one pass
};

/// Reads the key that classify shares with seq2seq and with distillation of a classifier.
/// `only_if`: a condition for the key to exist.
void read_label_smoothing(config::Section& section,
                          double& smoothing,
                          std::string_view only_if = "");

/// Reads the key that classify shares with distillation of a classifier.
void read_positive_label(config::Section& section,
                         std::string& label,
                         std::string_view only_if = "");

/// Reads all keys but `r_drop`. Throws config::Error.
ClassOptions read_class_options(config::Section& section);

}  // namespace weft::objectives
