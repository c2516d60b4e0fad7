#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/duration.h"
#include "config/section.h"
#include "models/adapters/lora_options.h"

namespace weft::train {

enum class OptimizerType { kAdamw, kSgd };
enum class DecayOn { kMatrices, kAll };

/// `train.optimizer:`
struct OptimizerOptions {
  OptimizerType type = OptimizerType::kAdamw;
  double lr = 1e-4;
  std::array<double, 2> betas = {0.9, 0.999};  // adamw
  double epsilon = 1e-8;                       // adamw
  double momentum = 0.9;                       // sgd
  double weight_decay = 0.01;
  DecayOn decay_on = DecayOn::kMatrices;  // parameters of two or more dimensions, or all
  double layer_decay = 1;                 // factor of the rate from each layer to the one below
  std::optional<double> head_lr = std::nullopt;  // of pooler and head; nothing: lr
  bool scales_by_parameter = false;              // rates times the size of what they change
};

enum class ScheduleType {
  kConstant,
  kLinear,
  kCosine,
  kPolynomial,
  kInverseSquareRoot,
  kWarmupStableDecay,
};

/// `train.schedule:`
struct ScheduleOptions {
  ScheduleType type = ScheduleType::kLinear;
  config::Duration warmup = {};  // from 0 to the whole rate
  double power = 1.0;            // polynomial
  double floor = 0.0;            // least rate, as a share of lr
  // warmup_stable_decay: its last part; nothing: a tenth of the run
  std::optional<config::Duration> decay = std::nullopt;
};

/// What a forward pass keeps for the backward pass: everything, or of each layer its input.
enum class Checkpointing { kNone, kLayers };

enum class Precision { kAuto, kFp32, kBf16 };

/// `train.ema:`
struct AverageOptions {
  std::optional<double> decay = std::nullopt;  // nothing: no average
  bool warms_up = true;
};

/// `train.early_stopping:`
struct EarlyStoppingOptions {
  std::optional<int64_t> patience = std::nullopt;  // evaluations; nothing: never
  double min_delta = 0;
};

/// What a step brings that must not reach the weights.
enum class OnBadStep { kSkip, kRollBack, kStop };

/// `train.nonfinite:`
struct NonFiniteOptions {
  OnBadStep action = OnBadStep::kSkip;
  int64_t stop_after = 10;  // skipped steps in a row, for this reason or as spikes
};

/// `train.spike:`
struct SpikeOptions {
  std::optional<double> sigma = std::nullopt;  // nothing: never looked for
  int64_t window = 128;                        // steps
  OnBadStep action = OnBadStep::kSkip;
};

/// What a run that goes back leaves out: the bad step's data, or all since the checkpoint.
enum class LeavesOut { kBatch, kSinceCheckpoint };

/// `train.rollback:`
struct RollbackOptions {
  int64_t most = 3;
  LeavesOut leaves_out = LeavesOut::kBatch;
};

/// `train:`
struct TrainOptions {
  config::Duration duration = {.amount = 3, .unit = config::DurationUnit::kEpochs};
  std::optional<int64_t> batch_tokens = 8192;  // of a step; exactly one of the two is set
  std::optional<int64_t> batch_sequences = std::nullopt;     // of a step
  std::optional<int64_t> micro_batch_tokens = std::nullopt;  // nothing: the step in one piece
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  std::optional<double> clip_norm = 1.0;
  Precision precision = Precision::kAuto;
  Checkpointing checkpoint_activations = Checkpointing::kNone;
  std::vector<std::string> freeze = {};  // parts and parameters that are not trained
  std::optional<models::LoraOptions> lora = std::nullopt;  // nothing: no adapters
  AverageOptions average;
  EarlyStoppingOptions early_stopping;
  std::optional<config::Duration> evaluate_every =
      config::Duration{.amount = 500};  // nothing: never
  std::optional<config::Duration> save_every =
      config::Duration{.amount = 500};  // nothing: only at the end
  bool saves_async = true;              // the run goes on while a checkpoint is written
  config::Duration log_every = {.amount = 10};
  std::optional<std::string> best_by = std::nullopt;  // nothing: what the objective prefers
  std::optional<int64_t> threads = std::nullopt;      // nothing: all cores
  NonFiniteOptions nonfinite;
  SpikeOptions spike;
  RollbackOptions rollback;
};

/// Whether every run of a config has the same bits; kAuto: on the CPU.
enum class Determinism { kAuto, kAlways, kNever };

enum class DeviceChoice { kAuto, kCpu, kCuda };

/// `run:`
struct RunOptions {
  std::string directory = "runs/weft";
  int64_t seed = 1;
  DeviceChoice device = DeviceChoice::kAuto;
  Determinism deterministic = Determinism::kAuto;
  int64_t keep_best = 1;  // checkpoints that are kept because of their figures
  int64_t keep_last = 2;  // and because they are the newest
};

/// Throw config::Error.
TrainOptions read_train_options(config::Section& section);
RunOptions read_run_options(config::Section& section);

}  // namespace weft::train
