#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "data/data_loader.h"
#include "train/checkpoint/checkpoint.h"
#include "train/distributed/outer_optimizer.h"
#include "train/distributed/process_group.h"
#include "train/optimizer/ema_weights.h"
#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/schedule.h"
#include "train/run/run_config.h"
#include "train/run/run_directory.h"
#include "train/step/checkpoint_driver.h"
#include "train/step/evaluation_driver.h"
#include "train/step/out_of_memory.h"
#include "train/step/run_components.h"
#include "train/step/state.h"
#include "train/step/step_failure_policy.h"
#include "train/step/step_failures.h"
#include "train/step/step_log.h"
#include "train/step/train_step.h"

namespace weft::train {

struct TrainerOptions {
  c10::Device device = c10::DeviceType::CPU;
  c10::ScalarType precision = c10::ScalarType::Float;
  int64_t threads = 1;
  bool measures_time = false;
  bool allows_changed_data = false;  // when resuming
  std::optional<StateKeptAcrossRollback> after_rollback = std::nullopt;
  ProcessGroup* group = &single_process();
  std::optional<config::Duration> pause_at = std::nullopt;  // TrainRequest::pause_at
};

/// State in which a process begins: that of the checkpoint `from`, if there is one, updated with
/// the properties of this process. Logs what differs. Throws UserError if the training data differ
/// and that is not allowed.
TrainState initial_state(const RunConfig& config,
                         const RunComponents& components,
                         const TrainerOptions& options,
                         const std::optional<ResumePoint>& from);

/// Trains one run in its directory, from scratch or from a checkpoint to its end: the loop over
/// steps, after which it evaluates, saves and logs. All ranks of a group run the same loop with the
/// same state; the main one evaluates, saves and logs.
class Trainer {
 public:
  /// `from`: the checkpoint to resume from. All references must outlive the trainer. Throws
  /// UserError if checkpoint and config do not match.
  Trainer(const RunConfig& config,
          const RunDirectory& directory,
          RunComponents& components,
          const TrainerOptions& options,
          const std::optional<ResumePoint>& from);

  /// Trains to the end, or to the pause of the options. Throws Stopped after a save if a stop was
  /// requested; FileError if the last save fails; RollbackRequested if the run has to roll back;
  /// std::runtime_error if bad steps or too little memory end it.
  void run(const std::function<void(const TrainState&)>& on_step = {});

  /// Parts of `run`, for probe runs: one step (false at the end of the data), and a complete save.
  bool step();
  void save();

  /// Whether the run has finished: its duration is over, or early stopping ended it.
  static bool is_finished(const TrainState& state, const TrainOptions& options);

  const TrainState& state() const { return state_; }
  const FlatParameters& flat_parameters() const { return flat_parameters_; }
  const Optimizer& optimizer() const { return optimizer_; }
  CheckpointParts checkpoint_parts() const;
  const StepTimings& timings() const { return train_step_.timings(); }
  void set_synchronizes(bool value) { train_step_.set_synchronizes(value); }
  const StepResult& result() const { return result_; }
  double data_wait_ms() const { return loader_->waited_ms(); }
  int64_t steps_per_epoch() { return loader_->steps_per_epoch(state_.cursor.epoch); }

 private:
  /// Whether there is nothing left to do for this process.
  bool is_done() const {
    return is_finished(state_, config_.train) ||
           (options_.pause_at && is_over(state_.progress, *options_.pause_at));
  }
  void restore(const ResumePoint& from);
  std::unique_ptr<data::DataLoader> make_loader() const;
  void compute(data::StepBatches& batches);
  void shrink_micro_batches(const MicroBatchOutOfMemory& shortage);
  void apply(const data::StepBatches& batches, double lr);
  void reject(const data::StepBatches& batches, const StepFailure& failure);
  TrainingProgress progress_after(const data::StepBatches& batches) const;
  void log_step(const TrainingProgress& before);
  void exchange_weights(bool is_last);
  void after_exchange(const TrainingProgress& before);
  void evaluate_now();
  void prepare_save();
  void start_save(std::vector<ScoredCheckpoint> scored_if_save_fails);
  void save_final();
  void save_and_stop();
  double minutes_now() const;

  const RunConfig& config_;
  const RunDirectory& directory_;
  RunComponents& components_;
  TrainerOptions options_;
  FlatParameters flat_parameters_;
  Optimizer optimizer_;
  ShardCollector collector_;
  std::optional<EmaWeights> ema_;
  std::optional<OuterOptimizer> outer_optimizer_;  // of train.ranks.diloco
  bool is_stop_logged_ = false;
  bool has_equal_weights_ = true;  // all ranks; not between exchanges of diloco
  LearningRate learning_rate_;
  TrainStep train_step_;
  StepFailurePolicy failures_;
  EvaluationDriver evaluation_;
  TrainState state_;
  std::unique_ptr<data::DataLoader> loader_;
  StepLog log_;
  StepResult result_;
  double minutes_before_ = 0;  // of earlier processes
  std::chrono::steady_clock::time_point begin_;
  CheckpointDriver checkpoints_;  // last, so that a running save ends before what it reads
};

}  // namespace weft::train
