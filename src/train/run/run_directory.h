#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "train/optimizer/train_options.h"
#include "train/step/state.h"

namespace weft {
class FileDescriptor;
}

namespace weft::train {

/// Throws UserError if the directory can be neither used nor created, without creating it.
void check_writable(const std::string& directory);

/// What a process may do with a run directory.
enum class RunAccess {
  kWrite,  // the only process to do so
  kRead,   // the other ranks of a run: what would write does nothing
};

/// Directory of one run, written by one process at a time.
class RunDirectory {
 public:
  /// To write, creates the directory and locks it. Throws UserError if another process has the
  /// lock.
  explicit RunDirectory(std::string path, RunAccess access = RunAccess::kWrite);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;
  ~RunDirectory();

  const std::string& path() const { return path_; }
  bool is_writable() const { return access_ == RunAccess::kWrite; }

  /// Removes incomplete files of an interrupted process, and restores a checkpoint that was moved
  /// aside for a replacement that was never completed.
  void remove_leftovers() const;
  /// Removes every checkpoint and log of an earlier run.
  void clear() const;
  /// Whether `clear` would remove what is at the path, or the path is this directory itself, which
  /// as a model means its best checkpoint.
  bool would_clear(const std::string& path) const;
  /// Throws UserError if a value of a resolved config is a path that `clear` would remove.
  void reject_inputs(const std::string& resolved) const;
  /// Renames checkpoints later than `step` to `<name>.superseded`: the run continues from `step`.
  void mark_superseded_after(int64_t step) const;

  /// After a save: points `last` (and `best`) to their checkpoints, then removes those that are
  /// kept by no `run.keep.*` option, link or `also`. `scored`: best first; `also`: steps.
  void update_links(const std::vector<ScoredCheckpoint>& scored,
                    const RunOptions& options,
                    const std::vector<int64_t>& also = {}) const;

 private:
  std::vector<std::string> names_to_clear() const;
  /// Whether the path leads to one of these names, or to this directory.
  bool leads_to(const std::string& path, const std::vector<std::string>& names) const;

  std::string path_;
  RunAccess access_;
  std::unique_ptr<FileDescriptor> lock_;
};

}  // namespace weft::train
