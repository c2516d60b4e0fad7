#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "data/data_loader.h"
#include "train/checkpoint/async_checkpointer.h"
#include "train/checkpoint/checkpoint.h"
#include "train/log/metrics_log.h"
#include "train/log/progress_line.h"
#include "train/optimizer/ema_weights.h"
#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/schedule.h"
#include "train/run/run_config.h"
#include "train/run/run_directory.h"
#include "train/step/evaluate.h"
#include "train/step/out_of_memory.h"
#include "train/step/run_components.h"
#include "train/step/state.h"
#include "train/step/train_step.h"

namespace weft::train {

struct TrainerOptions {
  c10::Device device = c10::DeviceType::CPU;
  c10::ScalarType precision = c10::ScalarType::Float;
  int64_t threads = 1;
  bool measures_time = false;
  bool allows_changed_data = false;  // when resuming
  std::optional<StateKeptAcrossRollback> after_rollback = std::nullopt;
};

/// Reason why a step must not update the weights.
struct StepFailure {
  bool is_spike = false;  // otherwise it is not finite
  std::string what;       // with the step and the cause
};

/// Token budget of a step and seed of the data order, from the config.
data::DataLoaderOptions loader_options(const RunConfig& config);

/// Trains one run in its directory, from scratch or from a checkpoint to its end.
class Trainer {
 public:
  /// `from`: the checkpoint to resume from. All references must outlive the trainer. Throws
  /// UserError if checkpoint and config do not match.
  Trainer(const RunConfig& config,
          const RunDirectory& directory,
          RunComponents& components,
          const TrainerOptions& options,
          const std::optional<ResumePoint>& from);

  /// Trains to the end. Throws Stopped after a save if a stop was requested; FileError if the last
  /// save fails; RollbackRequested if the run has to roll back; std::runtime_error if bad steps or
  /// too little memory end it.
  void run(const std::function<void(const TrainState&)>& on_step = {});

  /// Parts of `run`, for probe runs: one step (false at the end of the data), and a complete save.
  bool step();
  void save();

  /// Whether the run has finished: its duration is over, or early stopping ended it.
  static bool is_finished(const TrainState& state, const TrainOptions& options);

  const TrainState& state() const { return state_; }
  const FlatParameters& flat_parameters() const { return flat_parameters_; }
  const Optimizer& optimizer() const { return *optimizer_; }
  CheckpointParts checkpoint_parts() const;
  const StepTimings& timings() const { return train_step_.timings(); }
  const StepResult& result() const { return result_; }
  double data_wait_ms() const { return loader_->waited_ms(); }
  int64_t steps_per_epoch() { return loader_->steps_per_epoch(state_.cursor.epoch); }

 private:
  void restore(const ResumePoint& from);
  void check_metric_for_best_model();
  TrainingProgress progress_after(const data::StepBatches& batches, const StepResult& result) const;
  std::unique_ptr<data::DataLoader> make_loader() const;
  void compute(data::StepBatches& batches);
  void shrink_micro_batches(const MicroBatchOutOfMemory& shortage);
  std::optional<StepFailure> detect_failure(data::StepBatches& batches);
  StepFailure describe_nonfinite(const data::StepBatches& batches);
  void apply(const data::StepBatches& batches, double lr);
  void reject_step(const data::StepBatches& batches, const StepFailure& failure);
  void after_step(const TrainingProgress& before);
  void log_metrics(bool is_last);
  bool is_evaluation_due(const TrainingProgress& before) const;
  void evaluate_now();
  Metrics evaluate_model();
  void log_evaluation(const Metrics& metrics);
  void update_best_and_early_stopping(double value);
  bool has_evaluation() const;
  bool is_new_best(double value) const;
  bool is_best_at_this_step() const;
  void start_save(std::vector<ScoredCheckpoint> scored_if_save_fails);
  void finish_save();
  void log_saved() const;
  void save_final();
  void save_and_stop();
  double minutes_now() const;
  ProgressMetrics progress_metrics() const;

  const RunConfig& config_;
  const RunDirectory& directory_;
  RunComponents& components_;
  TrainerOptions options_;
  FlatParameters flat_parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<EmaWeights> ema_;
  LearningRate learning_rate_;
  TrainStep train_step_;
  TrainState state_;
  std::unique_ptr<data::DataLoader> loader_;
  MetricsLog metrics_log_;
  ProgressLine progress_line_;
  std::string metric_for_best_model_;

  StepResult result_;
  double last_lr_ = 0;
  double minutes_before_ = 0;  // of earlier processes
  std::chrono::steady_clock::time_point begin_;
  double window_seconds_ = 0;  // spent in steps since the last log line
  int64_t window_tokens_ = 0;
  double tokens_per_second_ = 0;
  int64_t saved_step_ = -1;
  std::vector<ScoredCheckpoint> scored_before_;  // before the last evaluation
  std::vector<ScoredCheckpoint>
      scored_if_save_fails_;  // `scored` to restore if the pending save fails
  int64_t evaluated_step_ = -1;
  AsyncCheckpointer checkpointer_;  // last, so that a running save ends before what it reads
};

}  // namespace weft::train
