// The part of Trainer that saves: in the background while the run goes on, and before it leaves.
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "train/step/trainer.h"

namespace weft::train {

CheckpointParts Trainer::checkpoint_parts() const {
  return {.model = *task_.model,
          .tokenizer = *task_.tokenizer,
          .arena = arena_,
          .master = arena_.master(),
          .moments = optimizer_->moments(),
          .average = average_ ? average_->values() : at::Tensor(),
          .lora = task_.lora ? &*task_.lora : nullptr,
          .resolved_config = config_.resolved};
}

void Trainer::save() {
  settle_save();
  state_.clock.minutes = minutes_now();
  metrics_.sync();  // a run that goes on from here has all lines up to here
  saver_.save(checkpoint_parts(), state_);
  saved_step_ = state_.clock.steps;
}

// In the midst of a run, which goes on while the checkpoint is written.
void Trainer::begin_save(std::vector<Scored> scored_if_lost) {
  settle_save();
  scored_if_lost_ = std::move(scored_if_lost);
  state_.clock.minutes = minutes_now();
  metrics_.sync();
  saver_.start(checkpoint_parts(), state_);
  if (saver_.has_ended()) {
    settle_save();
  }
}

// Waits for the save that was begun last, if it was not settled before, and tells what became of
// it. One that failed (a full disk) is no reason to lose what the next may keep.
void Trainer::settle_save() {
  const auto saved = saver_.take();
  if (!saved) {
    return;
  }
  try {
    if (saved->failure) {
      std::rethrow_exception(saved->failure);
    }
    saved_step_ = saved->step;
    say_saved();
  } catch (const FileError& error) {
    state_.scored = scored_if_lost_;  // what is not kept must not push out what is
    log::error(text("[checkpoint] not saved, the run goes on: ", error.what()));
  }
}

void Trainer::say_saved() const {
  log::info(text("[checkpoint] saved ", directory_.path(), "/", checkpoint_name(saved_step_)));
}

// The last save of this process.
void Trainer::save_or_tell() {
  try {
    save();
    say_saved();
  } catch (const FileError& error) {
    throw FileError(text(error.what(), "; step ", state_.clock.steps, " of ", directory_.path(),
                         " is not saved, the same command goes on from the checkpoint before it"));
  }
}

void Trainer::leave() {
  settle_save();
  if (state_.clock.steps == 0) {
    throw Stopped("stopped before the end of the first step");
  }
  if (saved_step_ != state_.clock.steps || state_.owes_evaluation) {
    save_or_tell();
  }
  throw Stopped(text("stopped after step ", state_.clock.steps,
                     " and a save; the same command goes on from there"));
}

}  // namespace weft::train
