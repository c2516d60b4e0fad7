#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/run/run_config.h"
#include "train/run/run_record.h"

namespace weft::train {

/// Result of comparing two runs at one step.
struct Comparison {
  int64_t tensors = 0;                   // of all files of the checkpoint
  int64_t lines = 0;                     // of metrics.jsonl
  std::vector<std::string> differences;  // a sentence each, with its file

  bool is_equal() const { return differences.empty(); }
};

/// Compares the checkpoints of two run directories at `step`: every tensor bit for bit, the state
/// (except values that depend on time and machine), and the lines of metrics.jsonl up to `step`,
/// without times and throughput. Throws FileError, formats::Error.
Comparison compare_runs(const std::string& expected, const std::string& found, int64_t step);

/// Trains until the step, or the run's end. `on_start`: as in TrainRequest. Throws Stopped if the
/// user stopped it before.
void train_up_to(const RunConfig& config,
                 int64_t step,
                 const std::function<void(const RunRecord&)>& on_start = {});

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

/// Result of `weft train --verify-resume`.
struct ResumeCheck {
  int64_t steps = 0;  // steps compared
  int64_t half = 0;   // step at which a new process resumed
  Comparison comparison;
};

/// Trains the config for `steps` steps (at most its duration) in one process, and again for half of
/// them in one process and the rest in another, all in a temporary directory that is removed, and
/// compares the results. Forks: the caller must not have trained before. Throws UserError with the
/// last output if one of them fails, or if the run depends on wall-clock time; Stopped.
ResumeCheck verify_resume(const RunConfig& config, int64_t steps);

}  // namespace weft::train
