#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "objectives/loss/class_options.h"

namespace weft::objectives {

/// How a trained classifier decides: `weft_task.json` in its directory.
struct DecisionThreshold {
  std::optional<double> threshold = {};  // nullopt: 0.5, or the likelier of two classes
  std::string tuned_by = {};             // the metric that it maximises; empty: it was given
  std::string positive_label = {};       // of two classes; empty: the second

  /// Index of the positive one of two classes.
  int64_t positive_class(const std::vector<std::string>& labels) const;
  /// Index of the most likely class or, with two classes and a threshold, the positive one from the
  /// threshold on.
  int64_t predicted_class(const std::vector<double>& probabilities,
                          const std::vector<std::string>& labels) const;
};

/// Config value of the metric.
std::string name_of(metrics::ThresholdMetric metric);

/// Reads what was saved with a model; the defaults if the directory has no such file. Throws
/// formats::Error.
DecisionThreshold read_decision_threshold(const std::string& directory);
/// Writes no file without a threshold and a positive class. Throws FileError.
void write_decision_threshold(const std::string& directory,
                              const DecisionThreshold& decision_threshold);

}  // namespace weft::objectives
