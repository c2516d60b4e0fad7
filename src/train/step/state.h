#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/data_loader.h"
#include "objectives/evaluation/decision_threshold.h"
#include "train/optimizer/schedule.h"
#include "train/optimizer/train_options.h"
#include "train/step/step_failures.h"
#include "train/step/training_progress.h"

namespace weft::train {

/// Metric of a checkpoint, used to select the best.
struct ScoredCheckpoint {
  int64_t step = 0;
  double value = 0;
};

/// State of early stopping.
struct EarlyStopping {
  std::optional<double> best = std::nullopt;  // nullopt: no finite metric yet
  int64_t num_bad_evaluations = 0;            // evaluations since the best
};

/// All state of a run except tensors: training/state.json.
struct TrainState {
  TrainingProgress progress;
  int64_t updates = 0;        // steps whose update was not skipped
  data::DataPosition cursor;  // where the next step's data begins
  int64_t skipped = 0;        // steps that did not update the weights, in total
  int64_t skipped_in_row = 0;
  int64_t spikes = 0;        // part of `skipped`
  LossHistory loss_history;  // used if spikes are detected
  RollbackState rollbacks;
  std::optional<int64_t> micro_batch_tokens;  // reduced after out-of-memory; nullopt: as configured
  double window_loss = 0;                     // sum over the steps since the last log line
  int64_t window_steps = 0;
  std::optional<double> window_max_loss;                  // of a micro-batch
  std::vector<double> window_sums;                        // of the objective, likewise
  std::map<std::string, double> window_auxiliary_losses;  // of layers, by name, likewise
  std::optional<WarmupEnd> warmup_end;
  bool pending_evaluation = false;       // stopped during an evaluation due at this step
  std::string metric_for_best_model;     // that of `scored` and `early_stopping`
  std::vector<ScoredCheckpoint> scored;  // evaluated checkpoints that are kept, best first
  EarlyStopping early_stopping;
  objectives::DecisionThreshold decision;  // of the last evaluation, otherwise as configured

  // Checked when the run is resumed.
  int64_t seed = 0;
  std::string precision;  // fp32 or bf16, never auto
  int64_t threads = 0;
  uint64_t data = 0;  // fingerprint of the training data
  uint64_t evaluation_data = 0;
  std::string versions;
};

std::string to_json(const TrainState& state);
/// Throws formats::Error.
TrainState read_state(const std::string& path);

/// Records one evaluation; a metric that is not finite never counts as an improvement.
void update_early_stopping(EarlyStopping& early_stopping,
                           double value,
                           bool greater_is_better,
                           const EarlyStoppingOptions& options);

bool should_stop_early(const EarlyStopping& early_stopping, const EarlyStoppingOptions& options);

}  // namespace weft::train
