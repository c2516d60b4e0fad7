#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "objectives/objective.h"
#include "train/distributed/process_group.h"
#include "train/log/metrics_log.h"
#include "train/log/progress_line.h"
#include "train/optimizer/flat_parameters.h"
#include "train/run/run_config.h"
#include "train/run/run_directory.h"
#include "train/step/evaluate.h"
#include "train/step/run_components.h"
#include "train/step/state.h"
#include "train/step/train_step.h"

namespace weft::train {

/// Adds a step that updated the weights to the averages since the last log line.
void add_to_window(TrainState& state, const StepResult& result);

/// Log of a run: the progress line, and, in a directory that this process writes, metrics.jsonl
/// with its TensorBoard events.
class StepLog {
 public:
  /// Resumes the log of the run directory `directory` at this state. Several ranks log their rates
  /// too; the group must outlive the log. Throws FileError.
  StepLog(const RunDirectory& directory,
          const TrainState& state,
          const TrainOptions& options,
          const RemainingTime& remaining,
          ProcessGroup& group,
          const at::Device& device);

  /// Writes what TensorBoard shows of a new run besides its metrics.
  void write_start(const RunConfig& config, const RunComponents& components);
  /// Writes histograms of weights and gradients, if they are due in the step after `steps`. Call it
  /// before the update. `gradient`: of the trained parameters, in their flat order.
  void write_histograms(int64_t steps,
                        const FlatParameters& flat_parameters,
                        const at::Tensor& gradient);

  /// Records a step that took so many seconds, of which this rank waited for others so many.
  void add_step(const StepResult& result, double lr, double seconds, double waited_seconds);
  /// Adds time that belongs to no step, likewise: of an exchange of weights.
  void add_time(double seconds, double waited_seconds);
  /// Updates the progress line; after `write`, if both are due.
  void show(const TrainState& state);
  /// Writes the training metrics and begins a new window. All ranks must call it.
  void write(TrainState& state, const objectives::Objective& objective);
  /// Writes the metrics of an evaluation that took so many seconds. `selection`: what they mean for
  /// the best checkpoint, may be empty.
  void write_evaluation(const TrainingProgress& progress,
                        const Metrics& metrics,
                        const std::string& selection,
                        double seconds);
  /// Waits until everything is on disk, so that a run resumed from a checkpoint has all lines.
  void sync();

 private:
  ProgressMetrics progress_metrics() const;

  void add_rank_metrics(const TrainState& state, MetricsLog::Metrics& metrics);
  void write_metrics(int64_t step, const MetricsLog::Metrics& metrics);

  ProcessGroup& group_;
  at::Device device_;
  std::optional<int64_t> histograms_every_;
  std::optional<MetricsLog> metrics_log_;
  ProgressLine progress_line_;
  double loss_ = 0;  // of the last step, as are norm and learning rate
  double norm_ = 0;
  double lr_ = 0;
  double window_seconds_ = 0;  // spent in steps since the last log line
  double window_waited_seconds_ = 0;
  int64_t window_steps_ = 0;
  int64_t window_tokens_ = 0;
  int64_t window_own_tokens_ = 0;
  double tokens_per_second_ = 0;
};

}  // namespace weft::train
