#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/loader.h"
#include "objectives/evaluation/decision.h"
#include "train/step/bad_steps.h"
#include "train/step/clock.h"
#include "train/step/patience.h"

namespace weft::train {

/// A checkpoint's figure, by which the best is chosen.
struct Scored {
  int64_t step = 0;
  double value = 0;
};

/// All of a run's state that is not a tensor: training/state.json.
struct TrainState {
  Clock clock;
  int64_t updates = 0;  // steps whose update was not skipped
  data::Cursor cursor;  // where the next step's data begin
  int64_t skipped = 0;  // steps that did not reach the weights, in all
  int64_t skipped_in_row = 0;
  int64_t spikes = 0;  // of the skipped ones
  Recent recent;       // where spikes are looked for
  Rollbacks rollbacks;
  std::optional<int64_t> micro_batch_tokens;  // since memory ran out; nothing: what the config says
  double window_loss = 0;                     // sum over the steps since the last line of the log
  int64_t window_steps = 0;
  std::vector<double> window_tallies;  // of the objective, likewise
  std::optional<double> warmup_end;
  bool owes_evaluation = false;   // stopped in an evaluation that was due at this step
  std::vector<Scored> scored;     // evaluated checkpoints that are kept, best first
  Patience patience;              // of early stopping
  objectives::Decision decision;  // of the last evaluation, else what the config says

  // What the run that goes on must agree with.
  int64_t seed = 0;
  std::string precision;  // fp32 or bf16, never auto
  std::string optimizer;
  int64_t threads = 0;
  uint64_t data = 0;  // fingerprint of the training data
  uint64_t evaluation_data = 0;
  std::string versions;
};

std::string to_json(const TrainState& state);
/// Throws formats::Error.
TrainState read_state(const std::string& path);

}  // namespace weft::train
