#include "train/optimizer/train_options.h"

#include <string_view>
#include <vector>

#include "base/string_util.h"

namespace weft::train {

namespace {

const config::Choices<Precision> kPrecisions = {
    {"auto", Precision::kAuto}, {"fp32", Precision::kFp32}, {"bf16", Precision::kBf16}};
const config::Choices<ActivationCheckpointing> kCheckpointing = {
    {"none", ActivationCheckpointing::kNone}, {"layers", ActivationCheckpointing::kLayers}};
const config::Choices<Sharding> kSharding = {{"none", Sharding::kNone},
                                             {"optimizer", Sharding::kOptimizer},
                                             {"gradients", Sharding::kGradients},
                                             {"all", Sharding::kAll}};
const config::Choices<ShardGroup> kShardGroup = {{"all", ShardGroup::kAll},
                                                 {"machine", ShardGroup::kMachine}};
const config::Choices<Overlap> kOverlap = {
    {"auto", Overlap::kAuto}, {"always", Overlap::kAlways}, {"never", Overlap::kNever}};
const config::Choices<StepFailureAction> kStepFailureActions = {
    {"skip", StepFailureAction::kSkip},
    {"rollback", StepFailureAction::kRollback},
    {"stop", StepFailureAction::kStop}};
const config::Choices<RollbackSkip> kRollbackSkip = {
    {"batch", RollbackSkip::kBatch}, {"since_checkpoint", RollbackSkip::kSinceCheckpoint}};

// A key of one type of its section: read only for that type or when describing, else rejected.
bool applies(config::Section& section,
             std::string_view key,
             bool is_its_type,
             std::string_view only) {
  if (is_its_type || section.is_documenting()) {
    return true;
  }
  if (section.has(key)) {
    section.report(key, str_cat("has no effect here, only with ", only));
  }
  return false;
}

void read_batch(config::Section& section,
                const std::optional<int64_t>& default_sequences,
                TrainOptions& options) {
  options.batch_sequences = default_sequences;
  if (section.has("batch_tokens")) {
    options.batch_sequences.reset();
  }
  if (section.has("batch_sequences") || options.batch_sequences) {
    options.batch_tokens.reset();
  }
  section.read("batch_tokens", options.batch_tokens,
               {.help = "Maximum number of tokens per optimizer step (without padding), summed "
                        "over its micro-batches.",
                .unit = "tokens",
                .range = config::between(1, 1e12)});
  section.read("batch_sequences", options.batch_sequences,
               {.help = "Number of sequences per optimizer step, instead of batch_tokens.",
                .unit = "sequences",
                .range = config::between(1, 1e12)});
  section.read("micro_batch_tokens", options.micro_batch_tokens,
               {.help = "Gradient accumulation: a step is split into micro-batches of at most this "
                        "many tokens to save memory. The result is the same (except for dropout on "
                        "a GPU). null: no splitting.",
                .unit = "tokens",
                .range = config::between(1, 1e12)});
  if (options.batch_tokens && options.batch_sequences) {
    section.report("batch_sequences",
                   "batch_tokens and batch_sequences are mutually exclusive, omit one of them");
  }
  if (!options.batch_tokens && !options.batch_sequences) {
    section.report("batch_tokens",
                   "null, must be a number of tokens if batch_sequences is not given");
  }
}

void read_intervals(config::Section& section, TrainOptions& options) {
  section.read("evaluate_every", options.evaluate_every,
               {.help = "Evaluation interval on data.evaluate; the run also evaluates at its end. "
                        "`never`: no evaluation at all."});
  section.read(
      "save_every", options.save_every,
      {.help = "Checkpoint interval. `never`: only at the end of the run and when it is stopped."});
  section.read("save_async", options.saves_async,
               {.help = "Saves checkpoints in the background while training continues; needs "
                        "memory for a copy of weights and optimizer state. false: training waits "
                        "for each save. The files are identical."});
  section.read("log_every", options.log_every,
               {.help = "Interval for logging metrics to the log and to metrics.jsonl. The log "
                        "also has a line for the first step."});
  section.read("histograms_every", options.histograms_every,
               {.help = "Steps between histograms of weights and gradients in the TensorBoard "
                        "events. null: none.",
                .unit = "steps",
                .range = config::at_least(1)});
  section.read("best_by", options.metric_for_best_model,
               {.help = "Evaluation metric that selects the best checkpoint: lower is better for "
                        "losses, perplexities and errors, higher for other metrics. null: the "
                        "default metric of the objective."});
}

EmaOptions read_ema(config::Section section) {
  EmaOptions options;
  section.read(
      "decay", options.decay,
      {.help = "Decay of the exponential moving average (EMA) of the weights. null: no average.",
       .range = {.min = 0, .max = 1, .is_min_exclusive = true, .is_max_exclusive = true}});
  if (applies(section, "warmup", options.decay.has_value(), "a number for ema.decay")) {
    section.read("warmup", options.warms_up,
                 {.help = "EMA warm-up: limits the decay after t updates to (1 + t) / (10 + t).",
                  .only_if = "a number for ema.decay"});
  }
  section.reject_unread();
  return options;
}

EarlyStoppingOptions read_early_stopping(config::Section section, const TrainOptions& train) {
  constexpr std::string_view kOnly = "a number for early_stopping.patience";
  EarlyStoppingOptions options;
  section.read("patience", options.patience,
               {.help = "Patience: stops the run after this many evaluations in a row without "
                        "improvement of best_by. null: no early stopping.",
                .unit = "evaluations",
                .range = config::between(1, 1e9)});
  if (applies(section, "min_delta", options.patience.has_value(), kOnly)) {
    section.read("min_delta", options.min_delta,
                 {.help = "Minimum improvement of the metric that counts.",
                  .range = config::at_least(0),
                  .only_if = kOnly});
  }
  if (options.patience && !train.evaluate_every) {
    section.report("patience", "needs evaluations, but train.evaluate_every is `never`");
  }
  section.reject_unread();
  return options;
}

void read_fine_tuning(config::Section& section, TrainOptions& options) {
  section.read("freeze", options.freeze,
               {.help = "Frozen parameters, by module or parameter name (`embeddings`, "
                        "`layers.3`), range (`layers.0-5`) or pattern (`*.bias`), or `backbone` "
                        "(everything except pooler and head)."});
  options.ema = read_ema(section.section(
      "ema",
      {.help =
           "Exponential moving average (EMA) of the weights, used for evaluation and saved models; "
           "training/weights.safetensors of a checkpoint has the weights without averaging."}));
  options.early_stopping =
      read_early_stopping(section.section("early_stopping", {.help = "Early stopping."}), options);
}

NanPolicyOptions read_nan_policy(config::Section section) {
  NanPolicyOptions options;
  section.read_choice(
      "action", options.action, kStepFailureActions,
      {.help = "What to do if the loss or gradient of a step is still NaN or infinite after "
               "computing it a second time. The weights are never updated with it. skip: skip the "
               "step. rollback: go back to the last good checkpoint and skip the data given by "
               "train.rollback.skip. stop: end the run with an error."});
  section.read(
      "max_consecutive_skips", options.max_consecutive_skips,
      {.help = "Stops the run after this many skipped steps in a row, including loss spikes.",
       .unit = "steps",
       .range = config::between(1, 1e9)});
  section.reject_unread();
  return options;
}

SpikeOptions read_spike(config::Section section) {
  constexpr std::string_view kOnly = "a number for spike.sigma";
  SpikeOptions options;
  section.read("sigma", options.sigma,
               {.help = "Loss spike detection: a step is a spike if its loss or gradient norm is "
                        "more than sigma standard deviations above the mean of the last `window` "
                        "steps; 6 is common. null: off.",
                .range = config::above(0)});
  if (applies(section, "window", options.sigma.has_value(), kOnly)) {
    section.read("window", options.window,
                 {.help = "Number of steps for the mean and standard deviation, without skipped "
                          "steps. No spike is detected before half the window is filled.",
                  .unit = "steps",
                  .range = config::between(4, 10000),
                  .only_if = kOnly});
  }
  if (applies(section, "action", options.sigma.has_value(), kOnly)) {
    section.read_choice("action", options.action, kStepFailureActions,
                        {.help = "What to do with a loss spike; same values as nan_policy.action.",
                         .only_if = kOnly});
  }
  section.reject_unread();
  return options;
}

RollbackOptions read_rollback(config::Section section, bool is_used) {
  constexpr std::string_view kOnly = "`rollback` for nan_policy.action or spike.action";
  RollbackOptions options;
  if (applies(section, "max_rollbacks", is_used, kOnly)) {
    section.read(
        "max_rollbacks", options.max_rollbacks,
        {.help = "Maximum number of rollbacks in a run; if another one is needed, the run stops.",
         .unit = "rollbacks",
         .range = config::between(1, 1e6),
         .only_if = kOnly});
  }
  if (applies(section, "skip", is_used, kOnly)) {
    section.read_choice("skip", options.skip, kRollbackSkip,
                        {.help = "Data to skip after a rollback: the batch of the failed step, or "
                                 "all data since the checkpoint.",
                         .only_if = kOnly});
  }
  section.reject_unread();
  return options;
}

void read_step_failures(config::Section& section, TrainOptions& options) {
  options.nan_policy = read_nan_policy(section.section(
      "nan_policy", {.help = "Handling of steps with NaN or infinite loss or gradients."}));
  options.spike = read_spike(section.section("spike", {.help = "Detection of loss spikes."}));
  const bool is_used = options.nan_policy.action == StepFailureAction::kRollback ||
                       options.spike.action == StepFailureAction::kRollback;
  options.rollback = read_rollback(
      section.section("rollback", {.help = "Rollback to the last good checkpoint."}), is_used);
}

DilocoOptions read_diloco(config::Section section) {
  constexpr std::string_view kOnly = "an interval for diloco.every";
  DilocoOptions options;
  section.read("every", options.every,
               {.help = "Interval at which the ranks exchange their weights: `100 steps`. Between "
                        "exchanges each rank trains for itself, on its share of the data. Saves, "
                        "evaluations and stops wait for the next exchange. `never`: off, the "
                        "ranks add up their gradients in every step."});
  if (options.every &&
      (options.every->unit != config::DurationUnit::kSteps || options.every->amount < 1)) {
    section.report("every", str_cat(config::to_string(*options.every),
                                    ", must be a number of steps, as `100 steps`"));
  }
  if (applies(section, "lr", options.every.has_value(), kOnly)) {
    section.read("lr", options.lr,
                 {.help = "Learning rate of the outer optimizer, SGD with Nesterov momentum on "
                          "the mean change of the ranks' weights.",
                  .range = config::above(0),
                  .only_if = kOnly});
  }
  if (applies(section, "momentum", options.every.has_value(), kOnly)) {
    section.read("momentum", options.momentum,
                 {.help = "Nesterov momentum of the outer optimizer. 0 with lr 1: the weights are "
                          "averaged.",
                  .range = {.min = 0, .max = 1, .is_max_exclusive = true},
                  .only_if = kOnly});
  }
  if (applies(section, "start_step", options.every.has_value(), kOnly)) {
    section.read("start_step", options.start_step,
                 {.help = "Number of steps at first in which the ranks add up their gradients. The "
                          "outer optimizer is meant for a model that has learned the basics.",
                  .unit = "steps",
                  .range = config::at_least(0),
                  .only_if = kOnly});
  }
  section.reject_unread();
  return options;
}

RanksOptions read_ranks(config::Section section) {
  RanksOptions options;
  section.read_choice(
      "shard", options.shard, kSharding,
      {.help = "What is divided among the ranks of a run, so that each stores a part only. none: "
               "nothing. optimizer: optimizer state and fp32 master weights (ZeRO-1). gradients: "
               "also the gradients (ZeRO-2). all: also the weights, which are fetched layer by "
               "layer (ZeRO-3, FSDP). Checkpoints are the same. See docs/distributed.md."});
  section.read_choice(
      "shard_group", options.shard_group, kShardGroup,
      {.help = "Which ranks divide one copy of the model among themselves, as train.ranks.shard "
               "says. all: all ranks. machine: those of each machine (hybrid sharding, HSDP). "
               "Machines then exchange only sums of gradients, one part for each of their ranks. "
               "With 1, 2, 4, 8, ... ranks on a machine the result is the same."});
  section.read("expert_parallel", options.expert_parallel,
               {.help = "Expert parallelism: each rank keeps and computes some of the experts of a "
                        "mixture of experts, and tokens travel to their experts instead of weights "
                        "to the tokens. Needs shard: all."});
  if (options.expert_parallel && options.shard != Sharding::kAll) {
    section.report("expert_parallel", "needs shard: all");
  }
  section.read_choice("overlap", options.overlap, kOverlap,
                      {.help = "Whether ranks send the gradients of a layer while the backward "
                               "pass continues. auto: if the ranks are on several machines. The "
                               "result is the same."});
  options.diloco = read_diloco(section.section(
      "diloco", {.help = "Low-communication training for slow networks (DiLoCo, "
                         "arXiv:2311.08105): ranks exchange weights every few hundred steps "
                         "instead of gradients in every step. See docs/distributed.md."}));
  if (options.diloco.every && options.shard != Sharding::kNone) {
    section.report("shard", "must be none with diloco, as each rank trains the whole model");
  }
  section.read("timeout", options.timeout,
               {.help = "Time after which a rank that does not answer ends the run on all ranks: "
                        "`90 seconds`, `5 minutes`. Work that rank 0 does alone is not limited."});
  if (!config::seconds_in(options.timeout.unit)) {
    section.report("timeout", str_cat(config::to_string(options.timeout),
                                      ", must be a time, as `90 seconds` or `5 minutes`"));
  }
  section.read(
      "check_every", options.check_every,
      {.help = "Interval at which the ranks compare checksums of their weights, which must "
               "be equal; they also do before each save. A difference (a faulty memory) "
               "ends the run. `never`: only before saves."});
  section.reject_unread();
  return options;
}

}  // namespace

const config::Choices<Sharding>& sharding_choices() { return kSharding; }

TrainOptions read_train_options(config::Section& section,
                                const objectives::TrainingDefaults& defaults) {
  TrainOptions options;
  options.optimizer.lr = defaults.lr.value_or(options.optimizer.lr);
  options.duration = defaults.duration.value_or(options.duration);
  section.read("duration", options.duration,
               {.help = "Training duration: `2000 steps`, `3 epochs`, `10M tokens`, `90 seconds`, "
                        "`45 minutes` or `2 hours`."});
  read_batch(section, defaults.batch_sequences, options);
  options.optimizer = read_optimizer_options(
      section.section("optimizer", {.help = "The optimizer."}), options.optimizer);
  options.schedule =
      read_schedule_options(section.section("schedule", {.help = "Learning rate schedule."}),
                            options.duration, defaults.warmup.value_or(config::RelativeDuration{}));
  section.read("clip_norm", options.clip_norm,
               {.help = "Gradient clipping: maximum global gradient norm; larger gradients are "
                        "scaled down to it. null: no clipping.",
                .range = config::above(0)});
  section.read_choice(
      "precision", options.precision, kPrecisions,
      {.help = "Precision of the computation. Master weights and optimizer state are always fp32. "
               "auto: bf16 on processors with fast bf16 products (AMX, AVX512-BF16 of AMD, GPUs of "
               "compute capability 8.0), else fp32; `weft doctor` shows which."});
  section.read_choice(
      "gradient_checkpointing", options.gradient_checkpointing, kCheckpointing,
      {.help = "Activation (gradient) checkpointing. layers: store only the input of each layer "
               "and recompute the rest in the backward pass; same results with less memory, about "
               "a third slower. none: store all activations."});
  read_intervals(section, options);
  read_fine_tuning(section, options);
  options.lora = models::read_lora_options(section.section(
      "lora", {.help = "LoRA: low-rank adapters on frozen weight matrices (arXiv:2106.09685)."}));
  if (options.lora && !options.freeze.empty()) {
    section.report("freeze", "cannot be combined with lora, which freezes all other parameters");
  }
  section.read("threads", options.threads,
               {.help = "Number of CPU threads. null: all cores.",
                .unit = "threads",
                .range = config::between(1, 1024)});
  read_step_failures(section, options);
  options.ranks =
      read_ranks(section.section("ranks", {.help = "Training on several ranks (`weft launch`)."}));
  if (options.histograms_every && options.ranks.shard != Sharding::kNone) {
    section.report("histograms_every",
                   "needs all weights in one process, but ranks.shard divides them");
  }
  if (const auto& diloco = options.ranks.diloco;
      diloco.every && options.duration.unit == config::DurationUnit::kSteps &&
      static_cast<double>(diloco.start_step) >= options.duration.amount) {
    section.report("ranks.diloco.start_step",
                   str_cat(diloco.start_step, ", must be before the end of the run, ",
                           config::to_string(options.duration)));
  }
  if (options.ranks.diloco.every && options.ema.decay) {
    section.report("ema", "cannot be combined with ranks.diloco, which averages the weights too");
  }
  section.reject_unread();
  return options;
}

}  // namespace weft::train
