#include "train/step/step_failure_policy.h"

#include <stdexcept>

#include "base/log.h"
#include "base/string_util.h"
#include "train/step/nonfinite_diagnosis.h"

namespace weft::train {

namespace {

std::string describe_loss(const StepResult& result) {
  return str_cat("loss ", result.loss, ", gradient norm ", result.norm);
}

std::string describe_action(const StepFailureAction action) {
  switch (action) {
    case StepFailureAction::kSkip:
      return "skipped ";
    case StepFailureAction::kRollback:
      return "rolled back: ";
    case StepFailureAction::kStop:
      return "stops: ";
  }
  return "";
}

/// `step 8: `, the one being computed.
std::string step_prefix(const TrainState& state) {
  return str_cat("step ", state.progress.steps + 1, ": ");
}

}  // namespace

StepFailurePolicy::StepFailurePolicy(const TrainOptions& options,
                                     const RunComponents& components,
                                     const FlatParameters& flat_parameters,
                                     TrainStep& train_step)
    : options_(options),
      components_(components),
      flat_parameters_(flat_parameters),
      train_step_(train_step) {}

std::optional<StepFailure> StepFailurePolicy::detect(const TrainState& state,
                                                     const data::StepBatches& batches,
                                                     const StepResult& result,
                                                     const std::function<void()>& recompute) {
  if (!result.is_finite()) {
    const auto first = describe_loss(result);
    train_step_.discard_gradients();
    recompute();
    if (!result.is_finite()) {
      return describe_nonfinite(state, batches, result);
    }
    log::warning(str_cat("[train] ", step_prefix(state), first, "; a second computation gives ",
                         describe_loss(result),
                         ", which is used: probably a transient hardware fault"));
  }
  const auto spike = result.has_targets() ? detect_spike(state.loss_history, result, options_.spike)
                                          : std::nullopt;
  if (!spike) {
    return std::nullopt;
  }
  train_step_.discard_gradients();
  return StepFailure{.is_spike = true,
                     .what = str_cat(step_prefix(state), *spike, "; ",
                                     describe_texts(*components_.data.train, batches))};
}

StepFailure StepFailurePolicy::describe_nonfinite(const TrainState& state,
                                                  const data::StepBatches& batches,
                                                  const StepResult& result) {
  const auto tensor = first_nonfinite_gradient(flat_parameters_, train_step_.gradient(),
                                               components_.model->options(), train_step_.group());
  train_step_.discard_gradients();
  return {.what = str_cat(
              step_prefix(state), describe_loss(result),
              tensor.empty() ? "" : ", first in the gradient of " + tensor, "; ",
              locate_nonfinite(*components_.objective, *components_.model, *components_.data.train,
                               batches, train_step_.context_of(state.progress.steps)))};
}

StepFailure StepFailurePolicy::overflow(const TrainState& state,
                                        const data::StepBatches& batches,
                                        const StepResult& result,
                                        double lr) const {
  return {.what = str_cat(step_prefix(state), describe_loss(result), ", but at the learning rate ",
                          lr, " the update makes weights overflow fp32; ",
                          describe_texts(*components_.data.train, batches))};
}

StepFailureAction StepFailurePolicy::reject(TrainState& state, const StepFailure& failure) const {
  const auto action = failure.is_spike ? options_.spike.action : options_.nan_policy.action;
  const bool is_over = action == StepFailureAction::kRollback &&
                       state.rollbacks.count >= options_.rollback.max_rollbacks;
  log::warning(str_cat("[train] ", is_over ? "" : describe_action(action), failure.what));
  constexpr auto kAfter =
      ". The weights were not changed by it: resume from the last checkpoint, perhaps with a lower "
      "train.optimizer.lr";
  if (action == StepFailureAction::kStop) {
    throw TrainingDiverged(str_cat("train: ", failure.what, kAfter));
  }
  if (is_over) {
    throw TrainingDiverged(str_cat(
        "train: after ", state.rollbacks.count,
        " rollbacks (train.rollback.max_rollbacks) another one would be needed: ", failure.what,
        kAfter));
  }
  if (action == StepFailureAction::kRollback) {
    return action;
  }
  ++state.skipped;
  ++state.skipped_in_row;
  state.spikes += failure.is_spike ? 1 : 0;
  if (state.skipped_in_row >= options_.nan_policy.max_consecutive_skips) {
    throw TrainingDiverged(str_cat("train: ", state.skipped_in_row,
                                   " steps in a row were skipped; the last was ", failure.what,
                                   kAfter));
  }
  return action;
}

}  // namespace weft::train
