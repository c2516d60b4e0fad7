#include "train/step/checkpoint_driver.h"

#include <exception>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/string_util.h"

namespace weft::train {

namespace {

bool allows_rollback(const TrainOptions& options) {
  return options.nan_policy.action == StepFailureAction::kRollback ||
         options.spike.action == StepFailureAction::kRollback;
}

}  // namespace

void check_disk_space(const std::string& directory,
                      int64_t checkpoint_bytes,
                      int64_t missing,
                      int64_t free) {
  const auto size = [](int64_t bytes) { return format_bytes(static_cast<double>(bytes)); };
  if (free < checkpoint_bytes) {
    throw UserError(str_cat(directory, ": a checkpoint takes ", size(checkpoint_bytes),
                            ", but the disk has only ", size(free),
                            " free: free some space or choose another --output"));
  }
  if (free / checkpoint_bytes < missing) {
    log::warning(str_cat("[checkpoint] ", directory, ": the disk has ", size(free),
                         " free, enough for ", free / checkpoint_bytes, " of the ", missing,
                         " checkpoints of ", size(checkpoint_bytes),
                         " that this run keeps and writes (run.keep)"));
  }
}

CheckpointDriver::CheckpointDriver(const RunDirectory& directory,
                                   const RunConfig& config,
                                   int64_t saved_step)
    : directory_(directory),
      kept_(config.run.keep_last + config.run.keep_best),
      saved_step_(saved_step),
      checkpointer_(directory,
                    {.is_async = config.train.saves_async,
                     .run = config.run,
                     .keeps_rollback_checkpoints = allows_rollback(config.train)}) {}

void CheckpointDriver::check_disk_space(const CheckpointParts& parts) const {
  if (!directory_.is_writable()) {
    return;
  }
  // One more than is kept: the next is complete before an old one is removed.
  const auto present = static_cast<int64_t>(checkpoint_steps(directory_.path()).size());
  train::check_disk_space(directory_.path(), expected_checkpoint_bytes(parts), kept_ + 1 - present,
                          free_bytes(directory_.path()));
}

/// Saves in the process that writes the directory; the others send it their shards.
void CheckpointDriver::write(const CheckpointParts& parts,
                             const std::function<void()>& save) const {
  if (parts.collector != nullptr) {
    parts.collector->run(parts.flat_tensors(), save);
  } else if (directory_.is_writable()) {
    save();
  }
}

void CheckpointDriver::save(const CheckpointParts& parts, const TrainState& state) {
  write(parts, [&] { checkpointer_.save(parts, state); });
  saved_step_ = state.progress.steps;
}

void CheckpointDriver::save_final(const CheckpointParts& parts, const TrainState& state) {
  try {
    save(parts, state);
    log_saved();
  } catch (const FileError& error) {
    throw FileError(
        str_cat(error.what(), "; step ", state.progress.steps, " of ", directory_.path(),
                " is not saved, the same command resumes from the previous checkpoint"));
  }
}

void CheckpointDriver::start(const CheckpointParts& parts,
                             TrainState& state,
                             std::vector<ScoredCheckpoint> scored_if_save_fails) {
  scored_if_save_fails_ = std::move(scored_if_save_fails);
  write(parts, [&] { checkpointer_.start(parts, state); });
  if (!directory_.is_writable()) {
    saved_step_ = state.progress.steps;
    return;
  }
  finish_if_done(state);
}

void CheckpointDriver::finish(TrainState& state) {
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
    state.scored = scored_if_save_fails_;
    log::error(str_cat("[checkpoint] not saved, training continues: ", error.what()));
  }
}

void CheckpointDriver::finish_if_done(TrainState& state) {
  if (checkpointer_.is_done()) {
    finish(state);
  }
}

void CheckpointDriver::log_saved() const {
  log::info(str_cat("[checkpoint] saved ", directory_.path(), "/", checkpoint_name(saved_step_)));
}

}  // namespace weft::train
