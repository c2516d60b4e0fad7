#pragma once

#include <functional>
#include <optional>
#include <string>

#include "data/data_loader.h"
#include "train/optimizer/flat_parameters.h"
#include "train/step/run_components.h"
#include "train/step/state.h"
#include "train/step/train_step.h"

namespace weft::train {

/// Reason why a step must not update the weights.
struct StepFailure {
  bool is_spike = false;  // otherwise it is not finite
  std::string what;       // with the step and the cause
};

/// Detects steps that must not update the weights, and decides by train.nan_policy, train.spike and
/// train.rollback what follows.
class StepFailurePolicy {
 public:
  /// The references must outlive the policy.
  StepFailurePolicy(const TrainOptions& options,
                    const RunComponents& components,
                    const FlatParameters& flat_parameters,
                    TrainStep& train_step);

  /// Failure of the computed step, whose gradients are then discarded; nullopt if it may update the
  /// weights. A gradient that is not finite is computed a second time by `recompute`, which also
  /// updates `batches` and `result`: if it then is finite, the fault was transient and the new
  /// gradient is used.
  std::optional<StepFailure> detect(const TrainState& state,
                                    const data::StepBatches& batches,
                                    const StepResult& result,
                                    const std::function<void()>& recompute);

  /// Failure of a step whose update would carry weights beyond fp32.
  StepFailure overflow(const TrainState& state,
                       const data::StepBatches& batches,
                       const StepResult& result,
                       double lr) const;

  /// Logs the failure. Returns kSkip after counting a skipped step, or kRollback if the run has to
  /// roll back; throws TrainingDiverged if it has to stop, also after too many skips or
  /// rollbacks.
  StepFailureAction reject(TrainState& state, const StepFailure& failure) const;

 private:
  StepFailure describe_nonfinite(const TrainState& state,
                                 const data::StepBatches& batches,
                                 const StepResult& result);

  const TrainOptions& options_;
  const RunComponents& components_;
  const FlatParameters& flat_parameters_;
  TrainStep& train_step_;
};

}  // namespace weft::train
