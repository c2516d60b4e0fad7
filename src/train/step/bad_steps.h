#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/loader.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

struct StepResult;

/// Loss and gradient norm of the last steps that reached the weights, oldest first; kept only where
/// spikes are looked for.
struct Recent {
  std::vector<double> losses;
  std::vector<double> norms;
};

/// After a step that reached the weights.
void remember(Recent& recent, const StepResult& result, const SpikeOptions& options);

/// Why the step is a spike, in words: its loss or its norm lies too many standard deviations above
/// the mean of the last steps. Nothing where it is none, or where half a window is not yet seen.
std::optional<std::string> spike_in(const Recent& recent,
                                    const StepResult& result,
                                    const SpikeOptions& options);

/// The ways back that a run has taken.
struct Rollbacks {
  std::vector<int64_t> due;  // the last steps at which a save was due, oldest first: no other
                             // checkpoint is one to go back to, as a run that nobody stopped
                             // would not have it
  int64_t count = 0;
  int64_t to_step = -1;                     // of the last one
  std::vector<data::CursorRange> left_out;  // data that later steps pass over
};

/// A save is due at this step. `most`: steps that are remembered.
void note_due(Rollbacks& rollbacks, int64_t step, int64_t most);

/// What outlasts a rollback; all else of the state is the checkpoint's.
struct Outlasting {
  Rollbacks rollbacks;
  std::optional<int64_t> micro_batch_tokens;
  double minutes = 0;
};

/// A run is to go back to its last good checkpoint.
class RollBack : public std::runtime_error {
 public:
  RollBack(const std::string& what, Outlasting outlasting, int64_t steps, data::CursorRange bad)
      : std::runtime_error(what), outlasting_(std::move(outlasting)), steps_(steps), bad_(bad) {}

  const Outlasting& outlasting() const { return outlasting_; }
  int64_t steps() const { return steps_; }               // done before the bad one
  const data::CursorRange& bad() const { return bad_; }  // its data

  /// Steps of the checkpoints that may be good, latest first: they were due, and the run has not
  /// gone back to them already only to meet trouble in the very next step.
  std::vector<int64_t> candidates() const;
  /// What outlasts the way back to a checkpoint of that step and cursor.
  Outlasting after(int64_t to_step, const data::Cursor& cursor, LeavesOut leaves_out) const;

 private:
  Outlasting outlasting_;
  int64_t steps_;
  data::CursorRange bad_;
};

}  // namespace weft::train
