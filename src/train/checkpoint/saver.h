#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/memory.h"
#include "train/checkpoint/checkpoint.h"
#include "train/optimizer/train_options.h"
#include "train/run/run_directory.h"
#include "train/step/state.h"

namespace weft::train {

struct SaverOptions {
  bool is_async = true;
  RunOptions run = {};                                      // what is kept
  bool keeps_due = false;                                   // also what a rollback may go back to
  std::function<int64_t()> free_memory = available_memory;  // bytes
};

/// What became of a save.
struct Saved {
  int64_t step = 0;
  std::exception_ptr failure = {};  // null: it is on the disk
};

/// Bytes of the copy that a save in the background needs.
int64_t copied_bytes(const CheckpointParts& parts);

/// Saves the checkpoints of a run, one at a time: at once, or from a copy of its tensors in a
/// thread of its own while the run goes on. The files are the same.
class Saver {
 public:
  /// The directory must outlive the saver.
  Saver(const RunDirectory& directory, SaverOptions options);
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  /// Waits for the save that is under way.
  ~Saver();

  /// A whole save, with the links and what they no longer keep. Throws FileError.
  void save(const CheckpointParts& parts, const TrainState& state) const;

  /// Begins a save, once the one before has been taken. All but the tensors of `parts` must stay as
  /// it is until it is over. Where there is no memory for a copy it is over on return.
  void start(const CheckpointParts& parts, const TrainState& state);
  /// Whether a save has ended that was not taken.
  bool has_ended() const { return has_ended_.load(); }
  /// Waits for the save that was started last; nothing where it was taken before.
  std::optional<Saved> take();

 private:
  CheckpointParts copied(const CheckpointParts& parts);
  bool has_room(const CheckpointParts& parts);
  void save_and_note(const CheckpointParts& parts, const TrainState& state);

  const RunDirectory& directory_;
  SaverOptions options_;
  std::vector<at::Tensor> copies_;  // kept: a later save needs no memory
  std::thread thread_;
  std::optional<Saved> saved_;
  std::atomic<bool> has_ended_{false};
};

}  // namespace weft::train
