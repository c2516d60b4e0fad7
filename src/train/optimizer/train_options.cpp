#include "train/optimizer/train_options.h"

#include <string_view>
#include <vector>

#include "base/string_util.h"

namespace weft::train {

namespace {

const config::Choices<OptimizerType> kOptimizers = {{"adamw", OptimizerType::kAdamw},
                                                    {"sgd", OptimizerType::kSgd}};
const config::Choices<DecayOn> kDecayOn = {{"matrices", DecayOn::kMatrices},
                                           {"all", DecayOn::kAll}};
const config::Choices<ScheduleType> kSchedules = {
    {"constant", ScheduleType::kConstant},
    {"linear", ScheduleType::kLinear},
    {"cosine", ScheduleType::kCosine},
    {"polynomial", ScheduleType::kPolynomial},
    {"inverse_sqrt", ScheduleType::kInverseSquareRoot},
    {"warmup_stable_decay", ScheduleType::kWarmupStableDecay}};
const config::Choices<Precision> kPrecisions = {
    {"auto", Precision::kAuto}, {"fp32", Precision::kFp32}, {"bf16", Precision::kBf16}};
const config::Choices<ActivationCheckpointing> kCheckpointing = {
    {"none", ActivationCheckpointing::kNone}, {"layers", ActivationCheckpointing::kLayers}};
const config::Choices<Determinism> kDeterminism = {
    {"auto", Determinism::kAuto}, {"always", Determinism::kAlways}, {"never", Determinism::kNever}};
const config::Choices<StepFailureAction> kStepFailureActions = {
    {"skip", StepFailureAction::kSkip},
    {"rollback", StepFailureAction::kRollback},
    {"stop", StepFailureAction::kStop}};
const config::Choices<RollbackSkip> kRollbackSkip = {
    {"batch", RollbackSkip::kBatch}, {"since_checkpoint", RollbackSkip::kSinceCheckpoint}};
const config::Choices<DeviceChoice> kDevices = {
    {"auto", DeviceChoice::kAuto}, {"cpu", DeviceChoice::kCpu}, {"cuda", DeviceChoice::kCuda}};

// A key of one type of its section: read only for that type or when describing, else rejected.
bool applies(config::Section& section,
             std::string_view key,
             bool is_its_type,
             std::string_view only) {
  if (is_its_type || section.is_documenting()) {
    return true;
  }
  if (section.has(key)) {
    section.fail(key, str_cat("has no effect here, only with ", only));
  }
  return false;
}

OptimizerOptions read_optimizer(config::Section section) {
  OptimizerOptions options;
  section.read_choice("type", options.type, kOptimizers, {.help = "Optimizer."});
  section.read(
      "lr", options.lr,
      {.help = "Peak learning rate, reached after the warm-up.", .range = config::above(0)});
  const bool is_adamw = options.type == OptimizerType::kAdamw;
  if (applies(section, "betas", is_adamw, "type: adamw")) {
    std::vector<double> betas(options.betas.begin(), options.betas.end());
    section.read(
        "betas", betas,
        {.help =
             "Adam betas: decay rates of the running averages of the gradient and of its square.",
         .range = config::half_open(0, 1),
         .only_if = "type: adamw"});
    if (betas.size() != 2) {
      section.fail("betas", str_cat("a list of ", betas.size(), ", must have 2 numbers"));
    }
    options.betas = {betas[0], betas[1]};
  }
  if (applies(section, "epsilon", is_adamw, "type: adamw")) {
    section.read("epsilon", options.epsilon,
                 {.help = "Adam epsilon, added to the denominator for numerical stability.",
                  .range = config::above(0),
                  .only_if = "type: adamw"});
  }
  if (applies(section, "momentum", !is_adamw, "type: sgd")) {
    section.read("momentum", options.momentum,
                 {.help = "Momentum.", .range = config::half_open(0, 1), .only_if = "type: sgd"});
  }
  section.read("weight_decay", options.weight_decay,
               {.help = "Weight decay: decoupled (AdamW) for adamw; added to the gradient (L2 "
                        "regularization) for sgd.",
                .range = config::at_least(0)});
  section.read_choice("decay_on", options.decay_on, kDecayOn,
                      {.help = "Parameters with weight decay. matrices: tensors with two or more "
                               "dimensions, including embeddings. all: all parameters."});
  section.read("layer_decay", options.layer_decay,
               {.help = "Layer-wise learning rate decay (LLRD), a factor per layer from top to "
                        "bottom: with factor d and L layers the head uses lr, the top layer lr * "
                        "d, and the embeddings lr * d^(L + 1). 1: off.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  section.read("head_lr", options.head_lr,
               {.help = "Learning rate of the pooler and head after the warm-up. null: same as lr.",
                .range = config::above(0)});
  section.read("scale_parameter", options.scale_parameter,
               {.help = "Scales the learning rate of each parameter by the root mean square of its "
                        "values (at least 0.001), as in Adafactor (arXiv:1804.04235). T5 is "
                        "trained in this way with an lr of about 0.01."});
  section.reject_unread();
  return options;
}

void read_schedule_shape(config::Section& section, ScheduleOptions& options) {
  if (applies(section, "power", options.type == ScheduleType::kPolynomial, "type: polynomial")) {
    section.read("power", options.power,
                 {.help = "Exponent of the polynomial decay.",
                  .range = config::above(0),
                  .only_if = "type: polynomial"});
  }
  const bool decays_to_min_lr =
      options.type != ScheduleType::kConstant && options.type != ScheduleType::kInverseSquareRoot;
  const std::string_view falling = "type: linear, cosine, polynomial or warmup_stable_decay";
  if (applies(section, "min_lr_ratio", decays_to_min_lr, falling)) {
    section.read("min_lr_ratio", options.min_lr_ratio,
                 {.help = "Minimum learning rate at the end of the decay, as a fraction of lr.",
                  .range = config::between(0, 1),
                  .only_if = falling});
  }
  const std::string_view stable = "type: warmup_stable_decay";
  if (applies(section, "decay", options.type == ScheduleType::kWarmupStableDecay, stable)) {
    section.read(
        "decay", options.decay,
        {.help = "Length of the final decay phase. null: 10% of the run.", .only_if = stable});
  }
}

ScheduleOptions read_schedule(config::Section section, const config::Duration& duration) {
  ScheduleOptions options;
  section.read_choice("type", options.type, kSchedules,
                      {.help = "Learning rate schedule after the warm-up."});
  section.read("warmup", options.warmup,
               {.help = "Learning rate warm-up: length of the linear increase from zero to lr. `0 "
                        "steps`: no warm-up.",
                .range = config::at_least(0)});
  if (options.warmup.unit == duration.unit && options.warmup.amount > duration.amount) {
    section.fail("warmup", str_cat("the warm-up of ", config::to_string(options.warmup),
                                   " is longer than the run, whose duration is ",
                                   config::to_string(duration)));
  }
  read_schedule_shape(section, options);
  if (options.decay) {
    const double rest =
        duration.amount - (options.warmup.unit == duration.unit ? options.warmup.amount : 0);
    if (options.decay->unit != duration.unit) {
      section.fail("decay", "must have the unit of train.duration, " + config::to_string(duration));
    }
    if (options.decay->amount > rest) {
      section.fail("decay",
                   str_cat(config::to_string(*options.decay),
                           " is longer than the rest of train.duration after the warm-up"));
    }
  }
  section.reject_unread();
  return options;
}

void read_batch(config::Section& section, TrainOptions& options) {
  if (section.has("batch_sequences")) {
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
    section.fail("batch_sequences",
                 "batch_tokens and batch_sequences are mutually exclusive, omit one of them");
  }
  if (!options.batch_tokens && !options.batch_sequences) {
    section.fail("batch_tokens",
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
               {.help = "Interval for logging metrics to the log and to metrics.jsonl."});
  section.read(
      "best_by", options.metric_for_best_model,
      {.help =
           "Evaluation metric that selects the best checkpoint, in the direction of the metric "
           "(lower for losses, perplexities and errors). null: the objective's default metric."});
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
    section.fail("patience", "needs evaluations, but train.evaluate_every is `never`");
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

}  // namespace

TrainOptions read_train_options(config::Section& section) {
  TrainOptions options;
  section.read(
      "duration", options.duration,
      {.help = "Training duration: `2000 steps`, `3 epochs`, `10M tokens` or `45 minutes`."});
  read_batch(section, options);
  options.optimizer = read_optimizer(section.section("optimizer", {.help = "The optimizer."}));
  options.schedule = read_schedule(section.section("schedule", {.help = "Learning rate schedule."}),
                                   options.duration);
  section.read("clip_norm", options.clip_norm,
               {.help = "Gradient clipping: maximum global gradient norm; larger gradients are "
                        "scaled down to it. null: no clipping.",
                .range = config::above(0)});
  section.read_choice(
      "precision", options.precision, kPrecisions,
      {.help = "Precision of the computation. Master weights and optimizer state are always fp32. "
               "auto: bf16 if it is faster on this machine, else fp32."});
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
    section.fail("freeze", "cannot be combined with lora, which freezes all other parameters");
  }
  section.read("threads", options.threads,
               {.help = "Number of CPU threads. null: all cores.",
                .unit = "threads",
                .range = config::between(1, 1024)});
  read_step_failures(section, options);
  section.reject_unread();
  return options;
}

RunOptions read_run_options(config::Section& section) {
  RunOptions options;
  section.read("directory", options.directory, {.help = "Run directory for logs and checkpoints."});
  if (options.directory.empty()) {
    section.fail("directory", "'', must name a directory");
  }
  section.read("seed", options.seed,
               {.help = "Random seed for weight initialisation, data order, masking and dropout. "
                        "The same seed gives the same run.",
                .range = config::at_least(0)});
  section.read_choice("device", options.device, kDevices,
                      {.help = "Device. auto: the GPU if there is one, else the CPU."});
  section.read_choice(
      "deterministic", options.deterministic, kDeterminism,
      {.help = "Bitwise reproducible runs: independent of the number of threads on the CPU; with "
               "slower deterministic kernels on a GPU. auto: on for the CPU, off for a GPU."});
  auto keep = section.section("keep", {.help = "Number of checkpoints to keep."});
  keep.read("best", options.keep_best,
            {.help = "Number of best checkpoints to keep.",
             .unit = "checkpoints",
             .range = config::between(0, 1e9)});
  keep.read("last", options.keep_last,
            {.help = "Number of latest checkpoints to keep.",
             .unit = "checkpoints",
             .range = config::between(1, 1e9)});
  keep.reject_unread();
  section.reject_unread();
  return options;
}

}  // namespace weft::train
