#include "train/step/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "train/optimizer/parameter_groups.h"
#include "train/run/device.h"

namespace weft::train {

namespace {

using Steady = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

TrainState first_state(const RunConfig& config,
                       const RunComponents& components,
                       const TrainerOptions& options) {
  TrainState state;
  state.seed = config.run.seed;
  state.precision = precision_name(options.precision);
  state.threads = options.threads;
  state.data = components.data.train->fingerprint();
  state.evaluation_data = components.data.evaluate ? components.data.evaluate->fingerprint() : 0;
  state.versions = versions();
  state.decision.threshold = config.objective.classes.threshold;
  return state;
}

// Handles data that differs from the checkpoint's: an error, unless the user allows it.
void take_changed_data(const RunComponents& components,
                       const TrainerOptions& options,
                       const ResumePoint& from,
                       TrainState& state) {
  const auto found = components.data.train->fingerprint();
  const auto what = str_cat("the training data are not those of this checkpoint (fingerprint ",
                            to_hex(found), ", there ", to_hex(state.data), ")");
  if (!options.allows_changed_data) {
    throw UserError(
        str_cat(from.directory, ": ", what,
                "; bring them back, go on with the new ones by --allow-changed-data, or "
                "begin anew with --resume never"));
  }
  log::warning("[run] " + what + "; training continues with the new ones, as allowed");
  state.data = found;
}

// Initial state: the checkpoint's, updated with the properties of this process.
TrainState begin_state(const RunConfig& config,
                       const RunComponents& components,
                       const TrainerOptions& options,
                       const std::optional<ResumePoint>& from) {
  const auto fresh = first_state(config, components, options);
  auto state = from ? from->state : fresh;
  if (const auto& kept = options.after_rollback) {
    state.rollbacks = kept->rollbacks;
    state.micro_batch_tokens = kept->micro_batch_tokens;
    state.progress.minutes = kept->minutes;
  }
  if (!from) {
    return state;
  }
  if (state.data != fresh.data) {
    take_changed_data(components, options, *from, state);
  }
  if (state.evaluation_data != fresh.evaluation_data) {
    log::warning("[run] the evaluation data changed: figures before and after do not compare");
  }
  if (state.threads != fresh.threads) {
    // If that changes bits, set_determinism has warned.
    log::info(str_cat("[run] ", fresh.threads, " threads, the run had ", state.threads));
  }
  if (state.versions != fresh.versions) {
    log::warning(str_cat("[run] ", fresh.versions, ", the run had ", state.versions));
  }
  state.precision = fresh.precision;
  state.threads = fresh.threads;
  state.evaluation_data = fresh.evaluation_data;
  state.versions = fresh.versions;
  return state;
}

bool allows_rollback(const TrainOptions& options) {
  return options.nan_policy.action == StepFailureAction::kRollback ||
         options.spike.action == StepFailureAction::kRollback;
}

}  // namespace

data::DataLoaderOptions loader_options(const RunConfig& config) {
  data::DataLoaderOptions options;
  options.seed = static_cast<uint64_t>(config.run.seed);
  options.shuffles = config.data.shuffle;
  options.batch_tokens = config.train.batch_tokens.value_or(0);
  options.batch_sequences = config.train.batch_sequences.value_or(0);
  options.micro_batch_tokens = config.train.micro_batch_tokens.value_or(0);
  options.workers = config.data.workers;
  if (config.train.duration.unit == config::DurationUnit::kEpochs) {
    options.epochs = static_cast<int64_t>(std::ceil(config.train.duration.amount));
  }
  return options;
}

Trainer::Trainer(const RunConfig& config,
                 const RunDirectory& directory,
                 RunComponents& components,
                 const TrainerOptions& options,
                 const std::optional<ResumePoint>& from)
    : config_(config),
      directory_(directory),
      components_(components),
      options_(options),
      flat_parameters_(*components.model,
                       options.precision,
                       parameter_settings(config.train.optimizer, *components.model)),
      optimizer_(make_optimizer(config.train.optimizer, flat_parameters_)),
      learning_rate_(config.train.schedule, config.train.duration, config.train.optimizer.lr),
      train_step_(*components.objective,
                  *components.model,
                  flat_parameters_,
                  *optimizer_,
                  {.seed = static_cast<uint64_t>(config.run.seed),
                   .clip_norm = config.train.clip_norm,
                   .device = options.device,
                   .recomputes_layers =
                       config.train.gradient_checkpointing == ActivationCheckpointing::kLayers,
                   .measures_time = options.measures_time}),
      state_(begin_state(config, components, options, from)),
      loader_(make_loader()),
      metrics_log_(directory.path(), state_.progress.steps, state_.pending_evaluation),
      progress_line_(state_.progress, config.train.duration),
      metric_for_best_model_(config.train.metric_for_best_model.value_or(
          components.objective->metric_for_best_model())),
      minutes_before_(state_.progress.minutes),
      begin_(Steady::now()),
      checkpointer_(directory,
                    {.is_async = config.train.saves_async,
                     .run = config.run,
                     .keeps_rollback_checkpoints = allows_rollback(config.train)}) {
  if (config.train.ema.decay) {
    ema_.emplace(config.train.ema, flat_parameters_);  // when resuming: the checkpoint's model
  }
  if (from) {
    restore(*from);
  }
  check_metric_for_best_model();
}

void Trainer::restore(const ResumePoint& from) {
  load_weights(from.directory, flat_parameters_);
  load_optimizer(from.directory, flat_parameters_, *optimizer_);
  optimizer_->resume(state_.updates);
  learning_rate_.set_warmup_end(state_.warmup_end);
  saved_step_ = state_.progress.steps;
  const auto steps = checkpoint_steps(directory_.path());
  std::erase_if(state_.scored, [&](const ScoredCheckpoint& scored) {
    return !std::binary_search(steps.begin(), steps.end(), scored.step);
  });
}

double Trainer::minutes_now() const {
  return minutes_before_ + Seconds(Steady::now() - begin_).count() / 60;
}

bool Trainer::is_finished(const TrainState& state, const TrainOptions& options) {
  return is_over(state.progress, options.duration) ||
         should_stop_early(state.early_stopping, options.early_stopping);
}

void Trainer::run(const std::function<void(const TrainState&)>& on_step) {
  begin_ = Steady::now();
  if (options_.after_rollback) {
    start_save(state_.scored);  // so that a resumed process skips the same data
  }
  if (state_.pending_evaluation) {
    evaluate_now();
    start_save(state_.scored);
  }
  while (!is_finished(state_, config_.train)) {
    const auto before = state_.progress;
    try {
      if (!step()) {
        break;
      }
    } catch (const Stopped&) {
      save_and_stop();  // state before the interrupted step
    }
    after_step(before);
    if (on_step) {
      on_step(state_);
    }
    if (stop_requested() && !is_finished(state_, config_.train)) {
      save_and_stop();
    }
  }
  if (has_evaluation() && evaluated_step_ != state_.progress.steps) {
    evaluate_now();
  }
  finish_save();
  if (saved_step_ != state_.progress.steps) {
    save_final();
  }
}

void Trainer::after_step(const TrainingProgress& before) {
  const bool is_last = is_over(state_.progress, config_.train.duration);
  progress_line_.show(state_.progress, progress_metrics());
  if (checkpointer_.is_done()) {
    finish_save();
  }
  if (is_last || is_due(before, state_.progress, config_.train.log_every)) {
    log_metrics(is_last);
  }
  const bool saves =
      config_.train.save_every && is_due(before, state_.progress, *config_.train.save_every);
  if (saves) {
    record_save_step(state_.rollbacks, state_.progress.steps, config_.run.keep_last);
  }
  if (is_evaluation_due(before)) {
    evaluate_now();
  }
  const bool is_best = is_best_at_this_step();
  if (!is_last && is_finished(state_, config_.train) && state_.window_steps > 0) {
    log_metrics(true);
  }
  if ((saves || is_best) && !is_finished(state_, config_.train)) {
    start_save(is_best ? scored_before_ : state_.scored);
  }
}

ProgressMetrics Trainer::progress_metrics() const {
  return {.loss = result_.loss, .learning_rate = last_lr_, .tokens_per_second = tokens_per_second_};
}

void Trainer::log_metrics(bool is_last) {
  MetricsLog::Metrics metrics;
  auto shown = progress_metrics();
  if (state_.window_steps > 0) {
    shown.loss = state_.window_loss / static_cast<double>(state_.window_steps);
    metrics.emplace_back("train/loss", shown.loss);
  }
  if (!state_.window_sums.empty()) {
    for (const auto& [name, value] : components_.objective->metrics(state_.window_sums)) {
      metrics.emplace_back("train/" + name, value);
    }
  }
  metrics.emplace_back("train/learning_rate", last_lr_);
  metrics.emplace_back("train/grad_norm", result_.norm);
  metrics.emplace_back("train/epoch", state_.progress.epochs);
  metrics.emplace_back("train/tokens", static_cast<double>(state_.progress.tokens));
  if (state_.skipped > 0) {
    metrics.emplace_back("train/skipped_steps", static_cast<double>(state_.skipped));
  }
  if (state_.spikes > 0) {
    metrics.emplace_back("train/spikes", static_cast<double>(state_.spikes));
  }
  if (state_.rollbacks.count > 0) {
    metrics.emplace_back("train/rollbacks", static_cast<double>(state_.rollbacks.count));
  }
  metrics.emplace_back("throughput/tokens_per_second", tokens_per_second_);
  metrics_log_.write(state_.progress.steps, metrics);
  progress_line_.write_line(state_.progress, shown, is_last);
  state_.window_loss = 0;
  state_.window_steps = 0;
  state_.window_sums.clear();
  window_seconds_ = 0;
  window_tokens_ = 0;
}

}  // namespace weft::train
