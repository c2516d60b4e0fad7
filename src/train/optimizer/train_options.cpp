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

void read_batch(config::Section& section, TrainOptions& options) {
  if (section.has("batch_sequences")) {
    options.batch_tokens.reset();
  }
  section.read("batch_tokens", options.batch_tokens,
               {.help = "Real tokens of a step at most, over its micro-batches.",
                .unit = "tokens",
                .range = config::between(1, 1e12)});
  section.read("batch_sequences", options.batch_sequences,
               {.help = "Sequences of a step, instead of batch_tokens.",
                .unit = "sequences",
                .range = config::between(1, 1e12)});
  section.read("micro_batch_tokens", options.micro_batch_tokens,
               {.help = "A step is cut into pieces of at most so many tokens, with the same result "
                        "in less memory (on a GPU but for the drops of dropout); null: one piece.",
                .unit = "tokens",
                .range = config::between(1, 1e12)});
  if (options.batch_tokens && options.batch_sequences) {
    section.fail("batch_sequences",
                 "batch_tokens and batch_sequences exclude each other, leave one of them out");
  }
  if (!options.batch_tokens && !options.batch_sequences) {
    section.fail("batch_tokens",
                 "null, must be a number of tokens where batch_sequences is not given");
  }
}

void read_intervals(config::Section& section, TrainOptions& options) {
  section.read("evaluate_every", options.evaluate_every,
               {.help = "How often data.evaluate is evaluated, and once more at the end; "
                        "`never`: not even then."});
  section.read("save_every", options.save_every,
               {.help = "How often a checkpoint is saved; `never`: only at the end and when the "
                        "run is stopped."});
  section.read(
      "save_async", options.saves_async,
      {.help = "Checkpoints are copied and then written in the background, while the run "
               "continues, for the memory of one copy of weights and optimizer; false: the "
               "run waits. Their bytes are the same."});
  section.read("log_every", options.log_every,
               {.help = "How often metrics go to the log and to metrics.jsonl."});
  section.read("best_by", options.metric_for_best_model,
               {.help = "The figure of the evaluation that says which checkpoint is best; a loss "
                        "is better low, others high; null: what the objective prefers."});
}

EmaOptions read_ema(config::Section section) {
  EmaOptions options;
  section.read("decay", options.decay,
               {.help = "Share of the average that an update keeps; null: no average.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true, .is_max_exclusive = true}});
  if (applies(section, "warmup", options.decay.has_value(), "a number for ema.decay")) {
    section.read(
        "warmup", options.warms_up,
        {.help = "Whether early updates, t of them, keep (1 + t) / (10 + t) of it at most.",
         .only_if = "a number for ema.decay"});
  }
  section.reject_unread();
  return options;
}

EarlyStoppingOptions read_early_stopping(config::Section section, const TrainOptions& train) {
  constexpr std::string_view kOnly = "a number for early_stopping.patience";
  EarlyStoppingOptions options;
  section.read("patience", options.patience,
               {.help = "The run ends after so many evaluations in a row whose figure best_by was "
                        "no better; null: never early.",
                .unit = "evaluations",
                .range = config::between(1, 1e9)});
  if (applies(section, "min_delta", options.patience.has_value(), kOnly)) {
    section.read("min_delta", options.min_delta,
                 {.help = "A figure must be better by more than this to count.",
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
               {.help = "What is not trained: parts or parameters by name (`embeddings`, "
                        "`layers.3`), ranges (`layers.0-5`), patterns (`*.bias`), or `backbone`: "
                        "all but pooler and head."});
  options.ema = read_ema(section.section(
      "ema",
      {.help = "Moving average of the weights, which evaluation and saved models use; "
               "training/weights.safetensors of a checkpoint holds the weights themselves."}));
  options.early_stopping = read_early_stopping(
      section.section("early_stopping", {.help = "The end of a run that gets no better."}),
      options);
}

NanPolicyOptions read_nan_policy(config::Section section) {
  NanPolicyOptions options;
  section.read_choice(
      "action", options.action, kStepFailureActions,
      {.help = "What a step brings whose loss or gradient is not finite, and again so when it is "
               "computed a second time. It never changes the weights. skip: the next step; "
               "rollback: the last good checkpoint, without such data; stop: the end."});
  section.read("max_consecutive_skips", options.max_consecutive_skips,
               {.help = "So many skipped steps in a row, spikes too, end the run.",
                .unit = "steps",
                .range = config::between(1, 1e9)});
  section.reject_unread();
  return options;
}

SpikeOptions read_spike(config::Section section) {
  constexpr std::string_view kOnly = "a number for spike.sigma";
  SpikeOptions options;
  section.read("sigma", options.sigma,
               {.help = "A step is a spike whose loss or gradient norm lies more than so many "
                        "standard deviations above the mean of the last steps; 6 is usual. null: "
                        "spikes are not looked for.",
                .range = config::above(0)});
  if (applies(section, "window", options.sigma.has_value(), kOnly)) {
    section.read("window", options.window,
                 {.help = "Steps that the mean is of, skipped ones left out; none is a spike "
                          "before half of them are seen.",
                  .unit = "steps",
                  .range = config::between(4, 10000),
                  .only_if = kOnly});
  }
  if (applies(section, "action", options.sigma.has_value(), kOnly)) {
    section.read_choice(
        "action", options.action, kStepFailureActions,
        {.help = "What a spike brings, as with nan_policy.action.", .only_if = kOnly});
  }
  section.reject_unread();
  return options;
}

RollbackOptions read_rollback(config::Section section, bool is_used) {
  constexpr std::string_view kOnly = "`rollback` for nan_policy.action or spike.action";
  RollbackOptions options;
  if (applies(section, "max_rollbacks", is_used, kOnly)) {
    section.read("max_rollbacks", options.max_rollbacks,
                 {.help = "Rollbacks of the whole run; one more that is needed ends it.",
                  .unit = "rollbacks",
                  .range = config::between(1, 1e6),
                  .only_if = kOnly});
  }
  if (applies(section, "skip", is_used, kOnly)) {
    section.read_choice("skip", options.skip, kRollbackSkip,
                        {.help = "The data that are passed over from then on: those of the bad "
                                 "step, or all since the checkpoint, so that other data lead away "
                                 "from it.",
                         .only_if = kOnly});
  }
  section.reject_unread();
  return options;
}

void read_step_failures(config::Section& section, TrainOptions& options) {
  options.nan_policy = read_nan_policy(
      section.section("nan_policy", {.help = "Steps whose loss or gradient is not finite."}));
  options.spike = read_spike(
      section.section("spike", {.help = "Steps whose loss or gradient is far from the usual."}));
  const bool is_used = options.nan_policy.action == StepFailureAction::kRollback ||
                       options.spike.action == StepFailureAction::kRollback;
  options.rollback = read_rollback(
      section.section("rollback", {.help = "The way back to the last good checkpoint."}), is_used);
}

}  // namespace

TrainOptions read_train_options(config::Section& section) {
  TrainOptions options;
  section.read(
      "duration", options.duration,
      {.help = "Length of the run: `2000 steps`, `3 epochs`, `10M tokens` or `45 minutes`."});
  read_batch(section, options);
  options.optimizer =
      read_optimizer_options(section.section("optimizer", {.help = "The optimizer."}));
  options.schedule = read_schedule_options(
      section.section("schedule", {.help = "The course of the learning rate."}), options.duration);
  section.read(
      "clip_norm", options.clip_norm,
      {.help = "Gradients longer than this, over all parameters, are shortened to it; null: never.",
       .range = config::above(0)});
  section.read_choice("precision", options.precision, kPrecisions,
                      {.help = "Number format of the arithmetic; weights and optimizer are kept in "
                               "fp32. auto: bf16 where the machine is faster with it."});
  section.read_choice("gradient_checkpointing", options.gradient_checkpointing, kCheckpointing,
                      {.help = "layers: each layer keeps its input alone and computes the rest "
                               "again in the backward pass: the same results in less memory, for "
                               "about a third more time; none: everything is kept."});
  read_intervals(section, options);
  read_fine_tuning(section, options);
  options.lora = models::read_lora_options(section.section(
      "lora", {.help = "Low-rank adapters beside frozen matrices (arXiv:2106.09685)."}));
  if (options.lora && !options.freeze.empty()) {
    section.fail("freeze", "does not go with lora, which freezes all that it does not name");
  }
  section.read("threads", options.threads,
               {.help = "Threads of the arithmetic; null: all cores.",
                .unit = "threads",
                .range = config::between(1, 1024)});
  read_step_failures(section, options);
  section.reject_unread();
  return options;
}

RunOptions read_run_options(config::Section& section) {
  RunOptions options;
  section.read("directory", options.directory,
               {.help = "Where the run's logs and checkpoints go."});
  if (options.directory.empty()) {
    section.fail("directory", "'', must name a directory");
  }
  section.read(
      "seed", options.seed,
      {.help =
           "Decides initial weights, order, masks and dropout; the same seed gives the same run.",
       .range = config::at_least(0)});
  section.read_choice("device", options.device, kDevices,
                      {.help = "Where to compute; auto: a GPU where there is one."});
  section.read_choice(
      "deterministic", options.deterministic, kDeterminism,
      {.help = "Whether every run has the same bits: on the CPU whatever the number of threads, on "
               "a GPU with slower kernels where LibTorch has such. auto: on the CPU, not on a "
               "GPU."});
  auto keep = section.section("keep", {.help = "How many checkpoints stay on disk."});
  keep.read("best", options.keep_best,
            {.help = "Checkpoints with the best figures.",
             .unit = "checkpoints",
             .range = config::between(0, 1e9)});
  keep.read(
      "last", options.keep_last,
      {.help = "The newest checkpoints.", .unit = "checkpoints", .range = config::between(1, 1e9)});
  keep.reject_unread();
  section.reject_unread();
  return options;
}

}  // namespace weft::train
