#include "train/step/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "train/optimizer/layer_rates.h"
#include "train/run/device.h"

namespace weft::train {

namespace {

using Steady = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

TrainState first_state(const RunConfig& config, const Task& task, const TrainerOptions& options) {
  TrainState state;
  state.seed = config.run.seed;
  state.precision = precision_name(options.precision);
  state.optimizer = config.train.optimizer.type == OptimizerType::kAdamw ? "adamw" : "sgd";
  state.threads = options.threads;
  state.data = task.data.train->fingerprint();
  state.evaluation_data = task.data.evaluate ? task.data.evaluate->fingerprint() : 0;
  state.versions = versions();
  state.decision.threshold = config.objective.classes.threshold;
  return state;
}

// The data are not those of the checkpoint: refused, unless the user allows it.
void take_changed_data(const Task& task,
                       const TrainerOptions& options,
                       const Resumable& from,
                       TrainState& state) {
  const auto found = task.data.train->fingerprint();
  const auto what = text("the training data are not those of this checkpoint (fingerprint ",
                         hex(found), ", there ", hex(state.data), ")");
  if (!options.allows_changed_data) {
    throw UserError(text(from.directory, ": ", what,
                         "; bring them back, go on with the new ones by --allow-changed-data, or "
                         "begin anew with --resume never"));
  }
  log::warning("[run] " + what + "; the run goes on with the new ones, as allowed");
  state.data = found;
}

// The state to begin with: what a checkpoint holds, under the process's own facts.
TrainState begin_state(const RunConfig& config,
                       const Task& task,
                       const TrainerOptions& options,
                       const std::optional<Resumable>& from) {
  const auto fresh = first_state(config, task, options);
  auto state = from ? from->state : fresh;
  if (const auto& kept = options.after_rollback) {
    state.rollbacks = kept->rollbacks;
    state.micro_batch_tokens = kept->micro_batch_tokens;
    state.clock.minutes = kept->minutes;
  }
  if (!from) {
    return state;
  }
  if (state.data != fresh.data) {
    take_changed_data(task, options, *from, state);
  }
  if (state.evaluation_data != fresh.evaluation_data) {
    log::warning("[run] the evaluation data changed: figures before and after do not compare");
  }
  if (state.threads != fresh.threads) {
    // Where that changes bits, a warning said so (set_determinism).
    log::info(text("[run] ", fresh.threads, " threads, the run had ", state.threads));
  }
  if (state.versions != fresh.versions) {
    log::warning(text("[run] ", fresh.versions, ", the run had ", state.versions));
  }
  state.precision = fresh.precision;
  state.optimizer = fresh.optimizer;
  state.threads = fresh.threads;
  state.evaluation_data = fresh.evaluation_data;
  state.versions = fresh.versions;
  return state;
}

bool may_roll_back(const TrainOptions& options) {
  return options.nonfinite.action == OnBadStep::kRollBack ||
         options.spike.action == OnBadStep::kRollBack;
}

}  // namespace

data::LoaderOptions loader_options(const RunConfig& config) {
  data::LoaderOptions options;
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
                 Task& task,
                 const TrainerOptions& options,
                 const std::optional<Resumable>& from)
    : config_(config),
      directory_(directory),
      task_(task),
      options_(options),
      arena_(*task.model,
             options.precision,
             config.train.optimizer.decay_on,
             layer_rates(config.train.optimizer, *task.model),
             segments_of(config.train.optimizer)),
      optimizer_(make_optimizer(config.train.optimizer, arena_)),
      rate_(config.train.schedule, config.train.duration, config.train.optimizer.lr),
      stepper_(*task.objective,
               *task.model,
               arena_,
               *optimizer_,
               {.seed = static_cast<uint64_t>(config.run.seed),
                .clip_norm = config.train.clip_norm,
                .device = options.device,
                .recomputes_layers = config.train.checkpoint_activations == Checkpointing::kLayers,
                .measures_parts = options.measures_parts}),
      state_(begin_state(config, task, options, from)),
      loader_(make_loader()),
      metrics_(directory.path(), state_.clock.steps, state_.owes_evaluation),
      progress_(state_.clock, config.train.duration),
      best_by_(config.train.best_by.value_or(task.objective->best_by())),
      minutes_before_(state_.clock.minutes),
      begin_(Steady::now()),
      saver_(directory,
             {.is_async = config.train.saves_async,
              .run = config.run,
              .keeps_due = may_roll_back(config.train)}) {
  if (config.train.average.decay) {
    average_.emplace(config.train.average, arena_);  // of a checkpoint: its model
  }
  if (from) {
    take_over(*from);
  }
  check_best_by();
}

void Trainer::take_over(const Resumable& from) {
  load_weights(from.directory, arena_);
  load_optimizer(from.directory, arena_, *optimizer_);
  optimizer_->resume(state_.updates);
  rate_.set_warmup_end(state_.warmup_end);
  saved_step_ = state_.clock.steps;
  const auto steps = checkpoint_steps(directory_.path());
  std::erase_if(state_.scored, [&](const Scored& scored) {
    return !std::binary_search(steps.begin(), steps.end(), scored.step);
  });
}

double Trainer::minutes_now() const {
  return minutes_before_ + Seconds(Steady::now() - begin_).count() / 60;
}

bool Trainer::is_finished(const TrainState& state, const TrainOptions& options) {
  return is_over(state.clock, options.duration) ||
         is_exhausted(state.patience, options.early_stopping);
}

void Trainer::run(const std::function<void(const TrainState&)>& on_step) {
  begin_ = Steady::now();
  if (options_.after_rollback) {
    begin_save(state_.scored);  // so that a process that goes on leaves out the same data
  }
  if (state_.owes_evaluation) {
    evaluate_now();
    begin_save(state_.scored);
  }
  while (!is_finished(state_, config_.train)) {
    const auto before = state_.clock;
    try {
      if (!step()) {
        break;
      }
    } catch (const Stopped&) {
      leave();  // as it was before the step that was broken off
    }
    after_step(before);
    if (on_step) {
      on_step(state_);
    }
    if (stop_requested() && !is_finished(state_, config_.train)) {
      leave();
    }
  }
  if (evaluates() && evaluated_step_ != state_.clock.steps) {
    evaluate_now();
  }
  settle_save();
  if (saved_step_ != state_.clock.steps) {
    save_or_tell();
  }
}

void Trainer::after_step(const Clock& before) {
  const bool is_last = is_over(state_.clock, config_.train.duration);
  progress_.show(state_.clock, progress_figures());
  if (saver_.has_ended()) {
    settle_save();
  }
  if (is_last || is_due(before, state_.clock, config_.train.log_every)) {
    log_figures(is_last);
  }
  const bool saves =
      config_.train.save_every && is_due(before, state_.clock, *config_.train.save_every);
  if (saves) {
    note_due(state_.rollbacks, state_.clock.steps, config_.run.keep_last);
  }
  if (wants_evaluation(before)) {
    evaluate_now();
  }
  const bool is_best = is_best_now();
  if (!is_last && is_finished(state_, config_.train) && state_.window_steps > 0) {
    log_figures(true);
  }
  if ((saves || is_best) && !is_finished(state_, config_.train)) {
    begin_save(is_best ? scored_before_ : state_.scored);
  }
}

ProgressFigures Trainer::progress_figures() const {
  return {.loss = result_.loss, .learning_rate = last_lr_, .tokens_per_second = tokens_per_second_};
}

void Trainer::log_figures(bool is_last) {
  MetricsLog::Figures figures;
  auto shown = progress_figures();
  if (state_.window_steps > 0) {
    shown.loss = state_.window_loss / static_cast<double>(state_.window_steps);
    figures.emplace_back("train/loss", shown.loss);
  }
  if (!state_.window_tallies.empty()) {
    for (const auto& [name, value] : task_.objective->figures(state_.window_tallies)) {
      figures.emplace_back("train/" + name, value);
    }
  }
  figures.emplace_back("train/learning_rate", last_lr_);
  figures.emplace_back("train/grad_norm", result_.norm);
  figures.emplace_back("train/epoch", state_.clock.epochs);
  figures.emplace_back("train/tokens", static_cast<double>(state_.clock.tokens));
  if (state_.skipped > 0) {
    figures.emplace_back("train/skipped_steps", static_cast<double>(state_.skipped));
  }
  if (state_.spikes > 0) {
    figures.emplace_back("train/spikes", static_cast<double>(state_.spikes));
  }
  if (state_.rollbacks.count > 0) {
    figures.emplace_back("train/rollbacks", static_cast<double>(state_.rollbacks.count));
  }
  figures.emplace_back("throughput/tokens_per_second", tokens_per_second_);
  metrics_.write(state_.clock.steps, figures);
  progress_.note(state_.clock, shown, is_last);
  state_.window_loss = 0;
  state_.window_steps = 0;
  state_.window_tallies.clear();
  window_seconds_ = 0;
  window_tokens_ = 0;
}

}  // namespace weft::train
