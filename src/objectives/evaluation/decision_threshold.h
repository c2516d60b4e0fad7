#pragma once

#include <optional>
#include <string>

#include "objectives/loss/class_options.h"

namespace weft::objectives {

/// Decision threshold of a trained classifier: `weft_task.json` in its directory.
struct DecisionThreshold {
  std::optional<double> threshold = {};  // nullopt: 0.5, or the likelier of two classes
  std::string tuned_by = {};             // the metric that it maximises; empty: it was given
};

/// Config value of the metric.
std::string name_of(metrics::ThresholdMetric metric);

/// Reads the threshold saved with a model; nullopt if the directory has no such file. Throws
/// formats::Error.
DecisionThreshold read_decision_threshold(const std::string& directory);
/// Writes no file without a threshold. Throws FileError.
void write_decision_threshold(const std::string& directory,
                              const DecisionThreshold& decision_threshold);

}  // namespace weft::objectives
