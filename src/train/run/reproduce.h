#pragma once

#include <optional>
#include <string>

#include "train/run/run_comparison.h"

namespace weft::train {

/// Result of reproducing a run.
struct Reproduction {
  int64_t step = 0;  // of the last checkpoint of the run
  std::string directory;
  Comparison comparison;
};

/// `weft train --reproduce`: repeats a run with its config, seed, threads and precision, up to its
/// last checkpoint, and compares the two. `path`: directory of the run. `output`: that of the
/// repetition; nullopt: `<path>-repeat`. Throws UserError if the data, the tokenizer or the initial
/// weights differ from those of the run, or if the run depended on wall-clock time.
Reproduction reproduce_run(const std::string& path, const std::optional<std::string>& output);

}  // namespace weft::train
