// Trainer: saves in the background while training continues, and at the end.
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/string_util.h"
#include "train/step/trainer.h"

namespace weft::train {

CheckpointParts Trainer::checkpoint_parts() const {
  return {.model = *components_.model,
          .tokenizer = *components_.tokenizer,
          .flat_parameters = flat_parameters_,
          .master = flat_parameters_.master(),
          .moments = optimizer_->moments(),
          .ema = ema_ ? ema_->values() : at::Tensor(),
          .lora = components_.lora ? &*components_.lora : nullptr,
          .resolved_config = config_.resolved};
}

void Trainer::save() {
  finish_save();
  state_.progress.minutes = minutes_now();
  metrics_log_.sync();  // a run resumed from here has all lines so far
  checkpointer_.save(checkpoint_parts(), state_);
  saved_step_ = state_.progress.steps;
}

// Starts a save during training, which continues while the checkpoint is written.
void Trainer::start_save(std::vector<ScoredCheckpoint> scored_if_save_fails) {
  finish_save();
  scored_if_save_fails_ = std::move(scored_if_save_fails);
  state_.progress.minutes = minutes_now();
  metrics_log_.sync();
  checkpointer_.start(checkpoint_parts(), state_);
  if (checkpointer_.is_done()) {
    finish_save();
  }
}

// Waits for the last save, unless it was settled before, and logs its outcome. A failed save (a
// full disk) does not end the run, as the next one may succeed.
void Trainer::finish_save() {
  const auto saved = checkpointer_.wait();
  if (!saved) {
    return;
  }
  try {
    if (saved->failure) {
      std::rethrow_exception(saved->failure);
    }
    saved_step_ = saved->step;
    log_saved();
  } catch (const FileError& error) {
    state_.scored = scored_if_save_fails_;  // an unsaved checkpoint must not displace a saved one
    log::error(str_cat("[checkpoint] not saved, training continues: ", error.what()));
  }
}

void Trainer::log_saved() const {
  log::info(str_cat("[checkpoint] saved ", directory_.path(), "/", checkpoint_name(saved_step_)));
}

// The last save of this process.
void Trainer::save_final() {
  try {
    save();
    log_saved();
  } catch (const FileError& error) {
    throw FileError(
        str_cat(error.what(), "; step ", state_.progress.steps, " of ", directory_.path(),
                " is not saved, the same command resumes from the previous checkpoint"));
  }
}

void Trainer::save_and_stop() {
  finish_save();
  if (state_.progress.steps == 0) {
    throw Stopped("stopped before the end of the first step");
  }
  if (saved_step_ != state_.progress.steps || state_.pending_evaluation) {
    save_final();
  }
  throw Stopped(str_cat("stopped after step ", state_.progress.steps,
                        " and saved; the same command resumes from there"));
}

}  // namespace weft::train
