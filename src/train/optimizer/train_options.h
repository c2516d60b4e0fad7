#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/duration.h"
#include "config/section.h"
#include "models/adapters/lora_options.h"
#include "objectives/training_defaults.h"
#include "train/optimizer/optimizer_options.h"
#include "train/optimizer/schedule.h"
#include "train/optimizer/shard_layout.h"

namespace weft::train {

/// Activations kept for the backward pass: all, or only the input of each layer.
enum class ActivationCheckpointing { kNone, kLayers };

enum class Precision { kAuto, kFp32, kBf16 };

/// `train.ema:`
struct EmaOptions {
  std::optional<double> decay = std::nullopt;  // nullopt: no average
  bool warms_up = true;
};

/// `train.early_stopping:`
struct EarlyStoppingOptions {
  std::optional<int64_t> patience = std::nullopt;  // evaluations; nullopt: never stops early
  double min_delta = 0;
};

/// Reaction to a step that must not update the weights.
enum class StepFailureAction { kSkip, kRollback, kStop };

/// `train.nan_policy:`
struct NanPolicyOptions {
  StepFailureAction action = StepFailureAction::kSkip;
  int64_t max_consecutive_skips = 10;  // consecutive skipped steps, spikes included
};

/// `train.spike:`
struct SpikeOptions {
  std::optional<double> sigma = std::nullopt;  // nullopt: not detected
  int64_t window = 128;                        // steps
  StepFailureAction action = StepFailureAction::kSkip;
};

/// Data skipped after a rollback: the bad step's, or all since the checkpoint.
enum class RollbackSkip { kBatch, kSinceCheckpoint };

/// `train.rollback:`
struct RollbackOptions {
  int64_t max_rollbacks = 3;
  RollbackSkip skip = RollbackSkip::kBatch;
};

/// Which ranks divide one copy of the model: all, or those of each machine (hybrid sharding).
enum class ShardGroup { kAll, kMachine };

/// Whether ranks exchange gradients during the backward pass; kAuto: if they are on several
/// machines.
enum class Overlap { kAuto, kAlways, kNever };

/// `train.ranks.diloco:` (arXiv:2311.08105)
struct DilocoOptions {
  std::optional<config::Duration> every = std::nullopt;  // in steps; nullopt: off
  double lr = 0.7;                                       // of the outer optimizer
  double momentum = 0.9;
  int64_t start_step = 0;  // steps before the first round, in which gradients are exchanged
};

/// `train.ranks:`
struct RanksOptions {
  Sharding shard = Sharding::kNone;
  ShardGroup shard_group = ShardGroup::kAll;
  bool expert_parallel = false;  // each rank has some of the experts for itself
  Overlap overlap = Overlap::kAuto;
  DilocoOptions diloco;
  config::Duration timeout = {.amount = 5, .unit = config::DurationUnit::kMinutes};
  std::optional<config::Duration> check_every = config::Duration{.amount = 100};  // nullopt: never
};

/// `train:`
struct TrainOptions {
  config::Duration duration = {.amount = 3, .unit = config::DurationUnit::kEpochs};
  std::optional<int64_t> batch_tokens = 8192;             // per step; exactly one of the two is set
  std::optional<int64_t> batch_sequences = std::nullopt;  // of a step
  std::optional<int64_t> micro_batch_tokens = std::nullopt;  // nullopt: not split
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  std::optional<double> clip_norm = 1.0;
  Precision precision = Precision::kAuto;
  ActivationCheckpointing gradient_checkpointing = ActivationCheckpointing::kNone;
  std::vector<std::string> freeze = {};                    // parts and parameters to freeze
  std::optional<models::LoraOptions> lora = std::nullopt;  // nullopt: no adapters
  EmaOptions ema;
  EarlyStoppingOptions early_stopping;
  std::optional<config::Duration> evaluate_every =
      config::Duration{.amount = 500};  // nullopt: never
  std::optional<config::Duration> save_every =
      config::Duration{.amount = 500};  // nullopt: only at the end
  bool saves_async = true;              // training continues while a checkpoint is written
  config::Duration log_every = {.amount = 10};
  std::optional<int64_t> histograms_every = std::nullopt;  // steps; nullopt: none
  std::optional<std::string> metric_for_best_model =
      std::nullopt;                               // nullopt: the objective's default
  std::optional<int64_t> threads = std::nullopt;  // nullopt: all cores
  NanPolicyOptions nan_policy;
  SpikeOptions spike;
  RollbackOptions rollback;
  RanksOptions ranks;
};

/// Whether runs of a config are bit-identical; kAuto: only on the CPU.
enum class Determinism { kAuto, kAlways, kNever };

enum class DeviceChoice { kAuto, kCpu, kCuda };

/// `run:`
struct RunOptions {
  std::string directory = "runs/weft";
  int64_t seed = 1;
  DeviceChoice device = DeviceChoice::kAuto;
  Determinism deterministic = Determinism::kAuto;
  int64_t keep_best = 1;  // best checkpoints to keep, by metric
  int64_t keep_last = 2;  // newest checkpoints to keep
  bool report = false;    // `weft train` writes report.html at the end
};

/// The values of `train.ranks.shard` by name.
const config::Choices<Sharding>& sharding_choices();

/// Reads `train:`; `defaults` replace those above. Throws config::Error.
TrainOptions read_train_options(config::Section& section,
                                const objectives::TrainingDefaults& defaults = {});
/// Reads `run:`. Throws config::Error.
RunOptions read_run_options(config::Section& section);

/// Checks the length of a run whose epochs have this many steps, which is asked only if needed.
/// Returns a warning if the run has very few updates. Throws UserError if the warm-up is longer
/// than the run. What only the clock or the texts tell is not checked.
std::optional<std::string> check_run_length(const TrainOptions& options,
                                            const std::function<int64_t()>& steps_per_epoch);

}  // namespace weft::train
