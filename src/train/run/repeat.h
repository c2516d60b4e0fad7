#pragma once

#include <optional>
#include <string>

#include "train/run/run_comparison.h"

namespace weft::train {

/// What became of a repetition.
struct Repetition {
  int64_t step = 0;  // the last one that the run has a checkpoint of
  std::string directory;
  Comparison comparison;
};

/// `weft train --repeat`: does a run again, with its config, seed, threads and precision, up to its
/// last checkpoint, and compares the two. `path`: its directory. `output`: that of the repetition;
/// nothing: `<path>-repeat`. Throws UserError where the data, the tokenizer or the first weights
/// are not those of the run, or the clock decided what it did.
Repetition repeat_run(const std::string& path, const std::optional<std::string>& output);

}  // namespace weft::train
