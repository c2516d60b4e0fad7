#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "data/loader.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/saver.h"
#include "train/log/metrics_log.h"
#include "train/log/progress.h"
#include "train/optimizer/arena.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/schedule.h"
#include "train/optimizer/weight_average.h"
#include "train/run/run_config.h"
#include "train/run/run_directory.h"
#include "train/step/evaluate.h"
#include "train/step/out_of_memory.h"
#include "train/step/state.h"
#include "train/step/stepper.h"
#include "train/step/task.h"

namespace weft::train {

struct TrainerOptions {
  c10::Device device = c10::DeviceType::CPU;
  c10::ScalarType precision = c10::ScalarType::Float;
  int64_t threads = 1;
  bool measures_parts = false;
  bool allows_changed_data = false;  // of a run that goes on
  std::optional<Outlasting> after_rollback = std::nullopt;
};

/// Why a step must not reach the weights.
struct Trouble {
  bool is_spike = false;  // else it is not finite
  std::string what;       // with the step, and where it went wrong
};

/// The budget of a step and the seed of the order, as the config has them.
data::LoaderOptions loader_options(const RunConfig& config);

/// One run in its directory, from its beginning or from a checkpoint to its end.
class Trainer {
 public:
  /// `from`: the checkpoint to go on from. All references must outlive the trainer. Throws
  /// UserError where checkpoint and config do not agree.
  Trainer(const RunConfig& config,
          const RunDirectory& directory,
          Task& task,
          const TrainerOptions& options,
          const std::optional<Resumable>& from);

  /// Trains to the end. Throws Stopped after a save where a stop was asked for; FileError where the
  /// last save fails; RollBack where the run is to go back; std::runtime_error where bad steps or
  /// too little memory end it.
  void run(const std::function<void(const TrainState&)>& on_step = {});

  /// Parts of `run`, for trials: one step (false at the end of the data), and a whole save.
  bool step();
  void save();

  /// Whether the run is at its end: its duration is over, or early stopping ended it.
  static bool is_finished(const TrainState& state, const TrainOptions& options);

  const TrainState& state() const { return state_; }
  const Arena& arena() const { return arena_; }
  const Optimizer& optimizer() const { return *optimizer_; }
  CheckpointParts checkpoint_parts() const;
  const StepParts& parts() const { return stepper_.parts(); }
  const StepResult& result() const { return result_; }
  double waited_ms() const { return loader_->waited_ms(); }
  int64_t steps_per_epoch() { return loader_->steps_per_epoch(state_.cursor.epoch); }

 private:
  void take_over(const Resumable& from);
  void check_best_by();
  Clock clock_after(const data::StepBatches& batches, const StepResult& result) const;
  std::unique_ptr<data::Loader> make_loader() const;
  void compute(data::StepBatches& batches);
  void take_smaller_pieces(const OutOfMemory& shortage);
  std::optional<Trouble> trouble_of(data::StepBatches& batches);
  Trouble describe_not_finite(const data::StepBatches& batches);
  void apply(const data::StepBatches& batches, double lr);
  void refuse(const data::StepBatches& batches, const Trouble& trouble);
  void after_step(const Clock& before);
  void log_figures(bool is_last);
  bool wants_evaluation(const Clock& before) const;
  void evaluate_now();
  Figures evaluate_model();
  void log_evaluation(const Figures& figures);
  void judge(double value);
  bool evaluates() const;
  bool is_new_best(double value) const;
  bool is_best_now() const;
  void begin_save(std::vector<Scored> scored_if_lost);
  void settle_save();
  void say_saved() const;
  void save_or_tell();
  void leave();
  double minutes_now() const;
  ProgressFigures progress_figures() const;

  const RunConfig& config_;
  const RunDirectory& directory_;
  Task& task_;
  TrainerOptions options_;
  Arena arena_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<WeightAverage> average_;
  LearningRate rate_;
  Stepper stepper_;
  TrainState state_;
  std::unique_ptr<data::Loader> loader_;
  MetricsLog metrics_;
  Progress progress_;
  std::string best_by_;

  StepResult result_;
  double last_lr_ = 0;
  double minutes_before_ = 0;  // of earlier processes
  std::chrono::steady_clock::time_point begin_;
  double window_seconds_ = 0;  // spent in steps since the last line of the log
  int64_t window_tokens_ = 0;
  double tokens_per_second_ = 0;
  int64_t saved_step_ = -1;
  std::vector<Scored> scored_before_;   // before the last evaluation
  std::vector<Scored> scored_if_lost_;  // `scored` where the save that was begun fails
  int64_t evaluated_step_ = -1;
  Saver saver_;  // last, so that a save under way ends before what it reads
};

}  // namespace weft::train
