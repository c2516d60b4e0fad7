#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/cost/rank_plan.h"
#include "train/distributed/process_group.h"
#include "train/run/run_config.h"
#include "train/run/run_record.h"
#include "train/step/state.h"

namespace weft::train {

enum class Resume {
  kAuto,   // resume the run if there is one, otherwise start it
  kNever,  // from scratch; replaces an earlier run in the directory
  kFrom,   // from the given checkpoint or run
};

struct TrainRequest {
  Resume resume = Resume::kAuto;
  std::string from = {};                    // kFrom
  bool allows_changed_data = false;         // accept other training data when resuming
  ProcessGroup* group = &single_process();  // that trains this run together
  /// Evaluates, saves and returns once this much of the run is done; a later call continues. The
  /// learning rate is that of the whole run.
  std::optional<config::Duration> pause_at = std::nullopt;
  std::function<void(const TrainState&)> on_step = {};
  std::function<void(const RunRecord&)> on_start = {};  // only for new runs, before the first step
};

/// `weft train`: starts or resumes the run and trains to its end or pause; a finished run is left
/// alone. All ranks of a group call it with the same config and see the same run directory; the
/// main rank writes to it. Throws UserError, Stopped (after a save), DistributedError,
/// TrainingDiverged, and OutOfMemoryError.
void run_training(const RunConfig& config, const TrainRequest& request);

/// Estimates for a whole run, from one step and one save.
struct DryRunReport {
  int64_t parameters = 0;
  std::string precision;
  std::string device;
  int64_t step_tokens = 0;
  double step_seconds = 0;
  double save_seconds = 0;
  int64_t checkpoint_bytes = 0;
  int64_t steps = 0;            // of the whole run; 0: unknown
  double total_seconds = 0;     // without evaluation
  int64_t memory_bytes = 0;     // peak, plus the copy for a background save
  int64_t free_disk_bytes = 0;  // where the run directory will be
  RankPlanSizes rank_plan_sizes;
  std::optional<ExpertPlanSizes> expert_plan_sizes;
  int64_t other_bytes = 0;  // of memory_bytes, what is neither weights nor kept from step to step
};

/// `weft train --dry-run`: one step and one save in a temporary directory, which is removed.
DryRunReport dry_run(const RunConfig& config);

/// A key whose value differs between two resolved configs; `none` where one of them lacks the key.
struct ConfigChange {
  std::string key;
  std::string before;
  std::string after;
};

/// The values of a resolved config, by keys such as `data.train[0].path`.
std::map<std::string, std::string> config_values(const std::string& resolved);

/// Compares two resolved configs key by key.
std::vector<ConfigChange> config_changes(const std::string& before, const std::string& after);

/// Whether the key may change when a run is resumed. Keys that determine the model, the training
/// data, the objective or the random numbers may not.
bool may_change(const std::string& key);

}  // namespace weft::train
