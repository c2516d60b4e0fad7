#pragma once

#include <optional>
#include <string>

#include "objectives/loss/class_options.h"

namespace weft::objectives {

/// How a trained classifier decides: `weft_task.json` in its directory.
struct Decision {
  std::optional<double> threshold = {};  // nothing: 0.5, or the likelier of two classes
  std::string tuned_by = {};             // the figure that it makes best; empty: it was given
};

/// The word of a config for the figure.
std::string word_of(metrics::ThresholdGoal goal);

/// The decision kept with a model; nothing is decided where the directory has no such file. Throws
/// formats::Error.
Decision read_decision(const std::string& directory);
/// Writes nothing where nothing is decided. Throws FileError.
void write_decision(const std::string& directory, const Decision& decision);

}  // namespace weft::objectives
