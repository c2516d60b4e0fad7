#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/machine.h"
#include "train/checkpoint/checkpoint.h"
#include "train/optimizer/train_options.h"
#include "train/run/run_directory.h"
#include "train/step/state.h"

namespace weft::train {

struct AsyncCheckpointerOptions {
  bool is_async = true;
  RunOptions run = {};                                      // which checkpoints to keep
  bool keeps_rollback_checkpoints = false;                  // also keep those a rollback may need
  std::function<int64_t()> free_memory = available_memory;  // bytes
};

/// Outcome of a save.
struct SaveResult {
  int64_t step = 0;
  std::exception_ptr failure = {};  // null: saved successfully
};

/// Bytes of the copy needed by a save in the background.
int64_t snapshot_bytes(const CheckpointParts& parts);

/// Saves the checkpoints of a run, one at a time: synchronously, or from a copy of its tensors in a
/// background thread while training continues. The files are the same.
class AsyncCheckpointer {
 public:
  /// The directory must outlive the checkpointer.
  AsyncCheckpointer(const RunDirectory& directory, AsyncCheckpointerOptions options);
  AsyncCheckpointer(const AsyncCheckpointer&) = delete;
  AsyncCheckpointer& operator=(const AsyncCheckpointer&) = delete;
  /// Waits for the save in progress.
  ~AsyncCheckpointer();

  /// Saves synchronously, updates links and removes old checkpoints. Throws FileError.
  void save(const CheckpointParts& parts, const TrainState& state) const;

  /// Starts a save; the previous one must have been taken with wait(). All of `parts` but the
  /// tensors must stay unchanged until it is done. Without memory for a copy it is done on return.
  void start(const CheckpointParts& parts, const TrainState& state);
  /// Whether a save has finished whose result was not taken yet.
  bool is_done() const { return is_done_.load(); }
  /// Waits for the last save; nullopt if its result was taken already.
  std::optional<SaveResult> wait();

 private:
  CheckpointParts snapshot(const CheckpointParts& parts);
  bool has_memory_for_copy(const CheckpointParts& parts);
  void save_and_record(const CheckpointParts& parts, const TrainState& state);

  const RunDirectory& directory_;
  AsyncCheckpointerOptions options_;
  std::vector<at::Tensor> copies_;  // reused by later saves
  std::thread thread_;
  std::optional<SaveResult> saved_;
  std::atomic<bool> is_done_{false};
};

}  // namespace weft::train
