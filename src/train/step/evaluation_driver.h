#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "train/distributed/process_group.h"
#include "train/optimizer/ema_weights.h"
#include "train/run/run_config.h"
#include "train/step/evaluate.h"
#include "train/step/run_components.h"
#include "train/step/state.h"

namespace weft::train {

/// The metric that selects the best model: train.best_by, or the default of the objective.
std::string metric_for_best_model(const TrainOptions& options,
                                  const objectives::Objective& objective);

/// Whether that is a metric of test files, `test_...`, by which only several runs can be ranked.
bool selects_by_tests(const TrainOptions& options);

/// Throws UserError if a single run is to select by a metric of test files, `test_...`.
void reject_test_metric(const TrainOptions& options);

/// Throws UserError if an evaluation with at least one item has no such metric.
void check_metric(const std::string& metric, const objectives::Evaluation& evaluation);

/// Evaluations during training: when they are due, on which weights, and what follows from their
/// metrics for the best checkpoints and early stopping.
class EvaluationDriver {
 public:
  /// The references must outlive the driver.
  EvaluationDriver(const RunConfig& config,
                   const RunComponents& components,
                   const c10::Device& device);

  /// Metric names are known only after an evaluation: evaluates a small part of the data to check
  /// train.best_by before hours are spent. Throws UserError.
  void check_metric_for_best_model() const;

  /// Interval of the evaluations; nullopt if the run is not evaluated at all.
  std::optional<config::Duration> interval() const;
  /// Whether an evaluation is due after the steps from `before` to `after`.
  bool is_due(const TrainingProgress& before, const TrainingProgress& after) const;

  /// Evaluates the average of the weights if there is one. `is_collective`: as in
  /// EvaluationSettings. Throws Stopped, DistributedError.
  Metrics evaluate(std::optional<EmaWeights>& ema, ProcessGroup& group, bool is_collective) const;
  /// `best eval_f1 0.8 at step 40 (not improved)`: the best value of the selection metric
  /// (train.best_by), and whether these metrics improve on those before. Empty without a value.
  std::string compare_with_best(const TrainState& state, const Metrics& metrics) const;
  /// Updates decision threshold, best checkpoints and early stopping with the metrics of a step.
  void update(TrainState& state, const Metrics& metrics);

  /// Step of the last evaluation by this process; -1: none.
  int64_t evaluated_step() const { return evaluated_step_; }
  /// Whether the current step is among the best checkpoints.
  static bool is_best_at_this_step(const TrainState& state);
  /// The best checkpoints before the last evaluation.
  const std::vector<ScoredCheckpoint>& scored_before() const { return scored_before_; }

 private:
  void update_best(TrainState& state, double value) const;
  void update_stopping(TrainState& state, double value) const;
  bool is_new_best(const TrainState& state, double value) const;
  bool is_better(double a, double b) const;
  bool greater_is_better() const;

  const RunConfig& config_;
  const RunComponents& components_;
  c10::Device device_;
  std::string metric_;  // that selects the best model
  std::vector<ScoredCheckpoint> scored_before_;
  int64_t evaluated_step_ = -1;
};

}  // namespace weft::train
