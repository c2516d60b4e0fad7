#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/data_loader.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

struct StepResult;

/// Loss and gradient norm of the last steps that updated the weights, oldest first; only recorded
/// if spikes are detected.
struct LossHistory {
  std::vector<double> losses;
  std::vector<double> norms;
};

/// Records a step that updated the weights.
void record_step(LossHistory& loss_history, const StepResult& result, const SpikeOptions& options);

/// Describes why the step is a spike: its loss or its norm is too many standard deviations above
/// the mean of the last steps. nullopt if it is none, or if under half a window is recorded.
std::optional<std::string> detect_spike(const LossHistory& loss_history,
                                        const StepResult& result,
                                        const SpikeOptions& options);

/// Rollback history of a run.
struct RollbackState {
  std::vector<int64_t> save_steps;  // the last steps at which a save was due, oldest first. Only
                                    // their checkpoints are rollback targets: an uninterrupted run
                                    // would have no others
  int64_t count = 0;
  int64_t to_step = -1;                         // step restored by the last rollback
  std::vector<data::DataRange> skipped_ranges;  // skipped by later steps
};

/// Records that a save is due at this step. `most`: maximum number of steps remembered.
void record_save_step(RollbackState& rollbacks, int64_t step, int64_t most);

/// State kept across a rollback; everything else is restored from the checkpoint.
struct StateKeptAcrossRollback {
  RollbackState rollbacks;
  std::optional<int64_t> micro_batch_tokens;
  double minutes = 0;
};

/// Ends a run whose losses or gradients are not finite, or are spikes, as train.nan_policy,
/// train.spike and train.rollback say; what() explains it.
class TrainingDiverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown to roll the run back to its last good checkpoint.
class RollbackRequested : public std::runtime_error {
 public:
  RollbackRequested(const std::string& what,
                    StateKeptAcrossRollback kept_state,
                    int64_t steps,
                    data::DataRange bad_range)
      : std::runtime_error(what),
        kept_state_(std::move(kept_state)),
        steps_(steps),
        bad_range_(bad_range) {}

  const StateKeptAcrossRollback& kept_state() const { return kept_state_; }
  int64_t steps() const { return steps_; }                         // steps done before the bad one
  const data::DataRange& bad_range() const { return bad_range_; }  // its data

  /// Steps of the checkpoints that may be good, latest first: a save was due there, and the run did
  /// not already roll back to them only to fail in the very next step.
  std::vector<int64_t> candidates() const;
  /// State to keep when rolling back to a checkpoint of that step and data position.
  StateKeptAcrossRollback state_after(int64_t to_step,
                                      const data::DataPosition& cursor,
                                      RollbackSkip skip) const;

 private:
  StateKeptAcrossRollback kept_state_;
  int64_t steps_;
  data::DataRange bad_range_;
};

}  // namespace weft::train
