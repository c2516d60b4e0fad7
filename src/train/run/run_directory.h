#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "train/optimizer/train_options.h"
#include "train/step/state.h"

namespace weft {
class Descriptor;
}

namespace weft::train {

/// The directory of one run, held by one process at a time.
class RunDirectory {
 public:
  /// Makes the directory and takes its lock. Throws UserError where another process holds it.
  explicit RunDirectory(std::string path);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;
  ~RunDirectory();

  const std::string& path() const { return path_; }

  /// Removes what a stopped process left half done, and puts back a checkpoint that stepped aside
  /// for one that never came.
  void remove_leftovers() const;
  /// Takes away every checkpoint and log of an earlier run.
  void clear() const;
  /// Renames checkpoints later than `step` to `<name>.superseded`: the run goes on from there.
  void set_aside_after(int64_t step) const;

  /// After a save: points `last` (and `best`) to their checkpoints, then removes those that neither
  /// `run.keep` nor a link nor `also` keeps. `scored`: best first; `also`: steps.
  void update_links(const std::vector<Scored>& scored,
                    const RunOptions& options,
                    const std::vector<int64_t>& also = {}) const;

 private:
  std::string path_;
  std::unique_ptr<Descriptor> lock_;
};

}  // namespace weft::train
