// Trainer: one step; splits it to fit into memory and checks its result.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "base/string_util.h"
#include "train/step/nonfinite_diagnosis.h"
#include "train/step/out_of_memory.h"
#include "train/step/trainer.h"

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

}  // namespace

std::unique_ptr<data::DataLoader> Trainer::make_loader() const {
  auto options = loader_options(config_);
  options.skipped_ranges = state_.rollbacks.skipped_ranges;
  if (const auto less = state_.micro_batch_tokens) {
    options.micro_batch_tokens =
        options.micro_batch_tokens > 0 ? std::min(options.micro_batch_tokens, *less) : *less;
  }
  return std::make_unique<data::DataLoader>(components_.data.train, options, state_.cursor);
}

bool Trainer::step() {
  using Steady = std::chrono::steady_clock;
  const auto begin = Steady::now();
  auto batches = loader_->next();
  if (!batches) {
    return false;
  }
  const double lr = learning_rate_.at(state_.progress);
  compute(*batches);
  if (const auto failure = detect_failure(*batches)) {
    reject_step(*batches, *failure);
  } else {
    apply(*batches, lr);
  }
  last_lr_ = lr;
  state_.progress = progress_after(*batches, result_);
  state_.cursor = batches->end;
  state_.updates = optimizer_->updates();
  state_.warmup_end = learning_rate_.warmup_end();
  const double seconds = std::chrono::duration<double>(Steady::now() - begin).count();
  window_seconds_ += seconds;
  window_tokens_ += result_.tokens;
  tokens_per_second_ = static_cast<double>(window_tokens_) / std::max(window_seconds_, 1e-9);
  return true;
}

TrainingProgress Trainer::progress_after(const data::StepBatches& batches,
                                         const StepResult& result) const {
  auto progress = state_.progress;
  ++progress.steps;
  progress.tokens += result.tokens;
  progress.epochs = static_cast<double>(batches.end.epoch);
  if (batches.end.position > 0) {
    progress.epochs += static_cast<double>(batches.end.position) /
                       static_cast<double>(components_.data.train->size(batches.end.epoch));
  }
  progress.minutes = minutes_now();
  return progress;
}

// Computes the step's gradient, in smaller micro-batches if memory runs out.
void Trainer::compute(data::StepBatches& batches) {
  for (;;) {
    try {
      result_ = train_step_.compute(batches, state_.progress.steps);
      return;
    } catch (const MicroBatchOutOfMemory& shortage) {
      shrink_micro_batches(shortage);
    }
    batches = *loader_->next();
  }
}

void Trainer::shrink_micro_batches(const MicroBatchOutOfMemory& shortage) {
  const auto step = str_cat("step ", state_.progress.steps + 1, ": ", shortage.what());
  if (shortage.sequences() < 2) {
    throw OutOfMemoryError(
        str_cat("train: out of memory in ", step,
                "; a single sequence cannot be split. To reduce memory, change data.length",
                config_.train.gradient_checkpointing == ActivationCheckpointing::kNone
                    ? ", train.gradient_checkpointing: layers"
                    : "",
                ", train.precision: bf16, train.lora, or use a smaller model (weft inspect CONFIG "
                "shows the memory). The weights were not changed by this step"));
  }
  state_.micro_batch_tokens = std::max<int64_t>(1, shortage.tokens() / 2);
  log::warning(str_cat("[train] out of memory in ", step,
                       "; the step is repeated with micro-batches of at most ",
                       with_commas(*state_.micro_batch_tokens),
                       " tokens, as is the rest of the run (train.micro_batch_tokens)"));
  loader_ = make_loader();
}

// Reason why the step must not update the weights. A gradient that is not finite is computed a
// second time: if it then is finite, the fault was transient and the new gradient is used.
std::optional<StepFailure> Trainer::detect_failure(data::StepBatches& batches) {
  if (!result_.is_finite()) {
    const auto first = describe_loss(result_);
    train_step_.discard_gradients();
    compute(batches);
    if (!result_.is_finite()) {
      return describe_nonfinite(batches);
    }
    log::warning(str_cat("[train] step ", state_.progress.steps + 1, ": ", first,
                         "; a second computation gives ", describe_loss(result_),
                         ", which is used: probably a transient hardware fault"));
  }
  const auto spike = result_.has_targets
                         ? detect_spike(state_.loss_history, result_, config_.train.spike)
                         : std::nullopt;
  if (!spike) {
    return std::nullopt;
  }
  train_step_.discard_gradients();
  return StepFailure{.is_spike = true,
                     .what = str_cat("step ", state_.progress.steps + 1, ": ", *spike, "; ",
                                     describe_texts(*components_.data.train, batches))};
}

StepFailure Trainer::describe_nonfinite(const data::StepBatches& batches) {
  const auto tensor = first_nonfinite_gradient(flat_parameters_, train_step_.gradient(),
                                               components_.model->options());
  train_step_.discard_gradients();
  return {.what = str_cat(
              "step ", state_.progress.steps + 1, ": ", describe_loss(result_),
              tensor.empty() ? "" : ", first in the gradient of " + tensor, "; ",
              locate_nonfinite(*components_.objective, *components_.model, *components_.data.train,
                               batches, train_step_.context_of(state_.progress.steps)))};
}

void Trainer::apply(const data::StepBatches& batches, double lr) {
  if (!result_.has_targets) {
    train_step_.discard_gradients();
    return;
  }
  if (!train_step_.update(result_, lr)) {
    reject_step(batches, {.what = str_cat("step ", state_.progress.steps + 1, ": ",
                                          describe_loss(result_), ", but at the learning rate ", lr,
                                          " the update makes weights overflow fp32; ",
                                          describe_texts(*components_.data.train, batches))});
    return;
  }
  state_.skipped_in_row = 0;
  if (ema_) {
    ema_->update(optimizer_->updates());
  }
  record_step(state_.loss_history, result_, config_.train.spike);
  state_.window_loss += result_.loss;
  state_.window_sums.resize(result_.running_sums.size(), 0);
  std::transform(result_.running_sums.begin(), result_.running_sums.end(),
                 state_.window_sums.begin(), state_.window_sums.begin(), std::plus<>());
  ++state_.window_steps;
}

// Handles a step that must not update the weights.
void Trainer::reject_step(const data::StepBatches& batches, const StepFailure& failure) {
  const auto& options = config_.train;
  const auto action = failure.is_spike ? options.spike.action : options.nan_policy.action;
  const bool is_over = action == StepFailureAction::kRollback &&
                       state_.rollbacks.count >= options.rollback.max_rollbacks;
  log::warning(str_cat("[train] ", is_over ? "" : describe_action(action), failure.what));
  constexpr auto kAfter =
      ". The weights were not changed by it: resume from the last checkpoint, perhaps with a lower "
      "train.optimizer.lr";
  if (action == StepFailureAction::kStop) {
    throw std::runtime_error(str_cat("train: ", failure.what, kAfter));
  }
  if (is_over) {
    throw std::runtime_error(str_cat(
        "train: after ", state_.rollbacks.count,
        " rollbacks (train.rollback.max_rollbacks) another one would be needed: ", failure.what,
        kAfter));
  }
  if (action == StepFailureAction::kRollback) {
    finish_save();
    throw RollbackRequested(failure.what,
                            {.rollbacks = state_.rollbacks,
                             .micro_batch_tokens = state_.micro_batch_tokens,
                             .minutes = minutes_now()},
                            state_.progress.steps, {.begin = batches.begin, .end = batches.end});
  }
  ++state_.skipped;
  ++state_.skipped_in_row;
  state_.spikes += failure.is_spike ? 1 : 0;
  if (state_.skipped_in_row >= options.nan_policy.max_consecutive_skips) {
    throw std::runtime_error(str_cat("train: ", state_.skipped_in_row,
                                     " steps in a row were skipped; the last was ", failure.what,
                                     kAfter));
  }
}

}  // namespace weft::train
