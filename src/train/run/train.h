#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "train/run/run_config.h"
#include "train/run/run_record.h"
#include "train/step/state.h"

namespace weft::train {

enum class Resume {
  kAuto,   // where the run stopped, if it ever began
  kNever,  // from the beginning; what an earlier run left in the directory is replaced
  kFrom,   // from the checkpoint or run named
};

struct TrainRequest {
  Resume resume = Resume::kAuto;
  std::string from = {};             // kFrom
  bool allows_changed_data = false;  // a run that goes on may get other training data
  std::function<void(const TrainState&)> on_step = {};
  std::function<void(const RunRecord&)> on_start =
      {};  // of a run that begins, before its first step
};

/// `weft train`: goes on with the run or begins it, to its end; a finished run is left alone.
/// Throws UserError, Stopped (after a save), and std::runtime_error where bad steps or too little
/// memory end it.
void run_training(const RunConfig& config, const TrainRequest& request);

/// What one step and one save told about a whole run.
struct Forecast {
  int64_t parameters = 0;
  std::string precision;
  std::string device;
  int64_t step_tokens = 0;
  double step_seconds = 0;
  double save_seconds = 0;
  int64_t checkpoint_bytes = 0;
  int64_t steps = 0;            // of the whole run; 0: not known
  double total_seconds = 0;     // without evaluation
  int64_t memory_bytes = 0;     // most that was held, and the copy of a save in the background
  int64_t free_disk_bytes = 0;  // where the run directory will lie
};

/// `weft train --dry-run`: one step and one save in a temporary directory, which is removed.
Forecast dry_run(const RunConfig& config);

}  // namespace weft::train
