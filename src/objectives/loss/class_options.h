#pragma once

#include <optional>

#include "config/section.h"
#include "metrics/ranking.h"

namespace weft::objectives {

/// The keys of an objective of type classify.
struct ClassOptions {
  bool multi_label = false;  // each class by itself: yes or no
  double label_smoothing = 0;
  config::NamedNumbers class_weights = {};  // or the word `balanced`
  double focal_gamma = 0;
  // Of two classes and of multi_label: the probability from which it is a yes. Nothing: 0.5 (two
  // classes: the likelier one).
  std::optional<double> threshold = {};
  std::optional<metrics::ThresholdGoal> tunes_threshold = {};  // nothing: it stays as it is
};

/// The key that classify shares with seq2seq, and with a distillation that classifies.
void read_label_smoothing(config::Section& section, double& smoothing);

/// Throws config::Error.
ClassOptions read_class_options(config::Section& section);

}  // namespace weft::objectives
