#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "train/checkpoint/async_checkpointer.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/run_config.h"
#include "train/run/run_directory.h"
#include "train/step/state.h"

namespace weft::train {

/// Throws UserError if `free` bytes cannot hold a checkpoint of so many; warns if they cannot hold
/// `missing` more, which is the number until old ones are removed.
void check_disk_space(const std::string& directory,
                      int64_t checkpoint_bytes,
                      int64_t missing,
                      int64_t free);

/// Saves of a run: in the background while training continues, and at the end. A failed save in the
/// background (a full disk) does not end the run, as the next one may succeed. In a directory that
/// this process does not write, every save counts as done by the process that does.
class CheckpointDriver {
 public:
  /// `saved_step`: step of the checkpoint that the run resumes from; -1: none. The directory must
  /// outlive the driver.
  CheckpointDriver(const RunDirectory& directory, const RunConfig& config, int64_t saved_step);

  /// Checks, before hours are spent, that the disk can hold the checkpoints. Throws UserError.
  void check_disk_space(const CheckpointParts& parts) const;

  /// Saves synchronously, after `finish`. Throws FileError.
  void save(const CheckpointParts& parts, const TrainState& state);
  /// The last save of this process, after `finish`. Throws FileError, saying what to do.
  void save_final(const CheckpointParts& parts, const TrainState& state);
  /// Starts a save, after `finish`. If it fails, `scored_if_save_fails` becomes `scored`.
  void start(const CheckpointParts& parts,
             TrainState& state,
             std::vector<ScoredCheckpoint> scored_if_save_fails);
  /// Waits for the last save, unless it was settled before, and logs its outcome.
  void finish(TrainState& state);
  /// The same if the save is done, without waiting.
  void finish_if_done(TrainState& state);

  /// Step of the last checkpoint that was saved.
  int64_t saved_step() const { return saved_step_; }

 private:
  void write(const CheckpointParts& parts, const std::function<void()>& save) const;
  void log_saved() const;

  const RunDirectory& directory_;
  int64_t kept_;  // checkpoints
  int64_t saved_step_;
  // An unsaved checkpoint must not displace a saved one.
  std::vector<ScoredCheckpoint> scored_if_save_fails_;
  AsyncCheckpointer checkpointer_;
};

}  // namespace weft::train
