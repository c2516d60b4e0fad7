#include "train/step/trainer.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "train/checkpoint/moments_of_ranks.h"
#include "train/distributed/replica_check.h"
#include "train/optimizer/parameter_groups.h"
#include "train/run/ranks.h"

namespace weft::train {
namespace {

using Steady = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

bool overlaps(const RanksOptions& options, const ProcessGroup& group) {
  return options.overlap == Overlap::kAlways ||
         (options.overlap == Overlap::kAuto && group.local_size() < group.size());
}

}  // namespace

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
                       parameter_settings(config.train.optimizer, *components.model),
                       shard_options(config.train.ranks, *components.model, *options.group)),
      optimizer_(config.train.optimizer, flat_parameters_, *options.group),
      collector_(
          flat_parameters_, *options.group, owners_of_moments(optimizer_, options.group->size())),
      learning_rate_(config.train.schedule, config.train.duration, config.train.optimizer.lr),
      train_step_(*components.objective,
                  *components.model,
                  flat_parameters_,
                  optimizer_,
                  {.seed = static_cast<uint64_t>(config.run.seed),
                   .clip_norm = config.train.clip_norm,
                   .device = options.device,
                   .recomputes_layers =
                       config.train.gradient_checkpointing == ActivationCheckpointing::kLayers,
                   .measures_time = options.measures_time,
                   .group = options.group,
                   .overlaps = overlaps(config.train.ranks, *options.group)}),
      failures_(config.train, components, flat_parameters_, train_step_),
      evaluation_(config, components, options.device),
      state_(initial_state(config, components, options, from)),
      loader_(make_loader()),
      log_(directory,
           state_,
           config.train,
           {state_.progress, config.train.duration, evaluation_.interval()},
           *options.group,
           options.device),
      minutes_before_(state_.progress.minutes),
      begin_(Steady::now()),
      checkpoints_(directory, config, from ? state_.progress.steps : -1) {
  if (config.train.ema.decay) {
    ema_.emplace(config.train.ema, flat_parameters_);  // when resuming: the checkpoint's model
  }
  if (from) {
    restore(*from);
  } else {
    log_.write_start(config, components);
  }
  if (config.train.ranks.diloco.every) {
    outer_optimizer_.emplace(config.train.ranks.diloco, flat_parameters_, *options.group);
    if (from) {
      load_outer_momentum(from->directory, flat_parameters_, *outer_optimizer_);
    }
  }
  evaluation_.check_metric_for_best_model();
}

void Trainer::restore(const ResumePoint& from) {
  load_weights(from.directory, flat_parameters_);
  load_moments(from.directory, flat_parameters_, optimizer_.moments(),
               config_.train.ranks.diloco.every ? options_.group->rank() : 0);
  optimizer_.resume(state_.updates);
  train_step_.carried_state().load(load_carried_state(from.directory), options_.device);
  learning_rate_.set_warmup_end(state_.warmup_end);
  const auto steps = checkpoint_steps(directory_.path());
  std::erase_if(state_.scored, [&](const ScoredCheckpoint& scored) {
    return !std::binary_search(steps.begin(), steps.end(), scored.step);
  });
}

std::unique_ptr<data::DataLoader> Trainer::make_loader() const {
  auto options = loader_options(config_);
  options.skipped_ranges = state_.rollbacks.skipped_ranges;
  options.ranks = options_.group->size();
  if (const auto less = state_.micro_batch_tokens) {
    options.micro_batch_tokens =
        options.micro_batch_tokens > 0 ? std::min(options.micro_batch_tokens, *less) : *less;
  }
  return std::make_unique<data::DataLoader>(components_.data.train, options, state_.cursor);
}

CheckpointParts Trainer::checkpoint_parts() const {
  const int ranks = options_.group->size();
  const bool collects = flat_parameters_.layout().is_sharded() || (outer_optimizer_ && ranks > 1);
  return {.model = *components_.model,
          .tokenizer = *components_.tokenizer,
          .flat_parameters = flat_parameters_,
          .master = flat_parameters_.master(),
          .moments = outer_optimizer_ ? moments_of_ranks(optimizer_, *outer_optimizer_, ranks)
                                      : optimizer_.moments(),
          .ema = ema_ ? ema_->values() : at::Tensor(),
          .carried_state = train_step_.carried_state().tensors(),
          .lora = components_.lora ? &*components_.lora : nullptr,
          .resolved_config = config_.resolved,
          .generation_config = components_.generation_config,
          .collector = collects ? &collector_ : nullptr};
}

/// By the clock of the main rank.
double Trainer::minutes_now() const {
  const double minutes = minutes_before_ + Seconds(Steady::now() - begin_).count() / 60;
  return options_.group->sum({options_.group->is_main() ? minutes : 0}).front();
}

bool Trainer::is_finished(const TrainState& state, const TrainOptions& options) {
  return is_over(state.progress, options.duration) ||
         should_stop_early(state.early_stopping, options.early_stopping);
}

void Trainer::run(const std::function<void(const TrainState&)>& on_step) {
  begin_ = Steady::now();
  checkpoints_.check_disk_space(checkpoint_parts());
  if (options_.after_rollback) {
    start_save(state_.scored);  // so that a resumed process skips the same data
  }
  if (state_.pending_evaluation) {
    evaluate_now();
    start_save(state_.scored);
  }
  auto last_exchange = state_.progress;
  while (!is_done()) {
    const auto before = state_.progress;
    try {
      if (!step()) {
        break;
      }
    } catch (const Stopped&) {
      save_and_stop();  // state before the interrupted step
    }
    exchange_weights(is_over(state_.progress, config_.train.duration));
    log_step(before);
    if (has_equal_weights_) {
      after_exchange(last_exchange);
      last_exchange = state_.progress;
    }
    if (on_step) {
      on_step(state_);
    }
    if (has_equal_weights_ && options_.group->any(stop_requested()) && !is_done()) {
      save_and_stop();
    }
  }
  if (!has_equal_weights_) {
    exchange_weights(true);  // the data ended
  }
  if (state_.skipped > 0 && state_.updates == 0) {
    throw TrainingDiverged(
        str_cat("train: none of the ", state_.progress.steps,
                " steps had a finite loss and gradient, so nothing was learned. Lower "
                "train.optimizer.lr, train in fp32, and check the weights of init_from"));
  }
  if (evaluation_.interval() && evaluation_.evaluated_step() != state_.progress.steps) {
    evaluate_now();
  }
  checkpoints_.finish(state_);
  if (options_.group->any(checkpoints_.saved_step() != state_.progress.steps)) {
    save_final();
  }
}

bool Trainer::step() {
  const auto begin = Steady::now();
  const double waited = options_.group->waited_seconds();
  auto batches = loader_->next();
  if (!batches) {
    return false;
  }
  const double lr = learning_rate_.at(state_.progress);
  compute(*batches);
  if (const auto failure =
          failures_.detect(state_, *batches, result_, [&] { compute(*batches); })) {
    reject(*batches, *failure);
  } else {
    apply(*batches, lr);
  }
  state_.progress = progress_after(*batches);
  state_.cursor = batches->end;
  state_.updates = optimizer_.updates();
  state_.warmup_end = learning_rate_.warmup_end();
  log_.add_step(result_, lr, Seconds(Steady::now() - begin).count(),
                options_.group->waited_seconds() - waited);
  return true;
}

// Computes the step's gradient, in smaller micro-batches if memory runs out.
void Trainer::compute(data::StepBatches& batches) {
  const auto steps = state_.progress.steps;
  const bool is_local = outer_optimizer_ && outer_optimizer_->begin_step(steps + 1);
  for (;;) {
    try {
      result_ = train_step_.compute(batches, steps, is_local);
      return;
    } catch (const MicroBatchOutOfMemory& shortage) {
      shrink_micro_batches(shortage);
    }
    batches = *loader_->next();
  }
}

void Trainer::shrink_micro_batches(const MicroBatchOutOfMemory& shortage) {
  const auto step = str_cat("step ", state_.progress.steps + 1, ": ", shortage.what());
  if (shortage.sequences() < 2) {
    throw OutOfMemoryError(single_sequence_message(
        step, config_.train.gradient_checkpointing == ActivationCheckpointing::kLayers));
  }
  state_.micro_batch_tokens = std::max<int64_t>(1, shortage.tokens() / 2);
  log::warning(str_cat("[train] out of memory in ", step,
                       "; the step is repeated with micro-batches of at most ",
                       with_commas(*state_.micro_batch_tokens),
                       " tokens, as is the rest of the run (train.micro_batch_tokens)"));
  loader_ = make_loader();
}

void Trainer::apply(const data::StepBatches& batches, double lr) {
  if (!result_.has_targets()) {
    train_step_.discard_gradients();
    return;
  }
  log_.write_histograms(state_.progress.steps, flat_parameters_, train_step_.gradient());
  if (!train_step_.update(lr)) {
    reject(batches, failures_.overflow(state_, batches, result_, lr));
    return;
  }
  state_.skipped_in_row = 0;
  if (ema_) {
    ema_->update(optimizer_.updates());
  }
  record_step(state_.loss_history, result_, config_.train.spike);
  add_to_window(state_, result_);
}

// Handles a step that must not update the weights.
void Trainer::reject(const data::StepBatches& batches, const StepFailure& failure) {
  if (failures_.reject(state_, failure) == StepFailureAction::kRollback) {
    checkpoints_.finish(state_);
    throw RollbackRequested(failure.what,
                            {.rollbacks = state_.rollbacks,
                             .micro_batch_tokens = state_.micro_batch_tokens,
                             .minutes = minutes_now()},
                            state_.progress.steps, {.begin = batches.begin, .end = batches.end});
  }
}

TrainingProgress Trainer::progress_after(const data::StepBatches& batches) const {
  auto progress = state_.progress;
  ++progress.steps;
  progress.tokens += result_.tokens;
  progress.epochs = static_cast<double>(batches.end.epoch);
  if (batches.end.position > 0) {
    progress.epochs += static_cast<double>(batches.end.position) /
                       static_cast<double>(components_.data.train->size(batches.end.epoch));
  }
  progress.minutes = minutes_now();
  return progress;
}

void Trainer::log_step(const TrainingProgress& before) {
  checkpoints_.finish_if_done(state_);
  if (is_over(state_.progress, config_.train.duration) ||
      is_due(before, state_.progress, config_.train.log_every)) {
    log_.write(state_, *components_.objective);
  }
  log_.show(state_);
}

// A round of diloco ends early with the run.
void Trainer::exchange_weights(bool is_last) {
  if (!outer_optimizer_ || !outer_optimizer_->is_local(state_.progress.steps)) {
    return;
  }
  has_equal_weights_ = is_last || outer_optimizer_->is_due(state_.progress.steps);
  if (has_equal_weights_) {
    const auto begin = Steady::now();
    const double waited = options_.group->waited_seconds();
    outer_optimizer_->update();
    log_.add_time(Seconds(Steady::now() - begin).count(),
                  options_.group->waited_seconds() - waited);
  } else if (stop_requested() && !std::exchange(is_stop_logged_, true)) {
    log::info("[run] stopping at the next exchange of weights (train.ranks.diloco)");
  }
}

// What needs the same weights on all ranks; `before`: progress when that was done last.
void Trainer::after_exchange(const TrainingProgress& before) {
  const bool is_last = is_over(state_.progress, config_.train.duration);
  const bool saves =
      config_.train.save_every && is_due(before, state_.progress, *config_.train.save_every);
  if (saves) {
    record_save_step(state_.rollbacks, state_.progress.steps, config_.run.keep_last);
  }
  bool is_best = false;
  if (evaluation_.is_due(before, state_.progress)) {
    evaluate_now();
    is_best = options_.group->any(EvaluationDriver::is_best_at_this_step(state_));
  }
  const auto& check_every = config_.train.ranks.check_every;
  if (check_every && is_due(before, state_.progress, *check_every)) {
    check_replicas(flat_parameters_, *options_.group);
  }
  if (!is_last && is_done() && state_.window_steps > 0) {
    log_.write(state_, *components_.objective);
  }
  if ((saves || is_best) && !is_done()) {
    start_save(is_best ? evaluation_.scored_before() : state_.scored);
  }
}

void Trainer::evaluate_now() {
  state_.pending_evaluation = true;
  const auto begin = Steady::now();
  Metrics metrics;
  try {
    metrics = evaluation_.evaluate(ema_, *options_.group, flat_parameters_.shards_weights());
  } catch (const Stopped&) {
    save_and_stop();
  }
  state_.pending_evaluation = false;
  const double seconds = Seconds(Steady::now() - begin).count();
  checkpoints_.finish(state_);  // only saved checkpoints compete
  log_.write_evaluation(state_.progress, metrics, evaluation_.compare_with_best(state_, metrics),
                        seconds);
  evaluation_.update(state_, metrics);
}

// What precedes every save.
void Trainer::prepare_save() {
  checkpoints_.finish(state_);
  options_.group->barrier("the last save");
  check_replicas(flat_parameters_, *options_.group);
  state_.progress.minutes = minutes_now();
  log_.sync();
}

void Trainer::save() {
  prepare_save();
  checkpoints_.save(checkpoint_parts(), state_);
}

void Trainer::start_save(std::vector<ScoredCheckpoint> scored_if_save_fails) {
  prepare_save();
  checkpoints_.start(checkpoint_parts(), state_, std::move(scored_if_save_fails));
}

void Trainer::save_final() {
  prepare_save();
  checkpoints_.save_final(checkpoint_parts(), state_);
}

void Trainer::save_and_stop() {
  checkpoints_.finish(state_);
  if (!has_equal_weights_) {
    throw Stopped(str_cat("stopped at step ", state_.progress.steps,
                          ", between exchanges of train.ranks.diloco, and did not save; the same "
                          "command resumes from the last checkpoint"));
  }
  if (state_.progress.steps == 0) {
    throw Stopped("stopped before the end of the first step");
  }
  if (options_.group->any(checkpoints_.saved_step() != state_.progress.steps) ||
      state_.pending_evaluation) {
    save_final();
  }
  throw Stopped(str_cat("stopped after step ", state_.progress.steps,
                        " and saved; the same command resumes from there"));
}

}  // namespace weft::train
