// Trainer: when to evaluate, on which weights, and how the metrics are used.
#include <algorithm>
#include <cmath>
#include <optional>

#include <ATen/core/grad_mode.h>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "batching/device_batch.h"
#include "train/step/trainer.h"

namespace weft::train {

// Metric names are known only after an evaluation: evaluates a small part of the data to check the
// name before hours are spent.
void Trainer::check_metric_for_best_model() {
  const bool is_used = config_.train.early_stopping.patience ||
                       (config_.train.metric_for_best_model && config_.run.keep_best > 0);
  if (!is_used) {
    return;
  }
  if (!components_.data.evaluate) {
    log::warning("[train] best_by has no effect: there is no data.evaluate");
    return;
  }
  const at::NoGradGuard no_grad;
  data::DataLoader loader(components_.data.evaluate,
                          {.shuffles = false, .batch_sequences = 2, .workers = 0});
  const auto evaluation = components_.objective->evaluation();
  const auto batch = loader.next()->micro_batches.front();
  evaluation->add(*components_.model, batch, batching::context_of(batch, options_.device));
  std::vector<std::string> names;
  for (const auto& item : evaluation->result()) {
    names.push_back(item.first);
  }
  if (std::find(names.begin(), names.end(), metric_for_best_model_) == names.end()) {
    throw UserError(
        str_cat("train.best_by: '", metric_for_best_model_, "' is not one of ", join(names)));
  }
}

bool Trainer::has_evaluation() const {
  return components_.data.evaluate != nullptr && config_.train.evaluate_every.has_value();
}

bool Trainer::is_evaluation_due(const TrainingProgress& before) const {
  return has_evaluation() && is_due(before, state_.progress, *config_.train.evaluate_every);
}

Metrics Trainer::evaluate_model() {
  std::optional<EmaWeights::EmaScope> ema_scope;
  if (ema_) {
    ema_scope.emplace(*ema_);
  }
  return evaluate(*components_.objective, *components_.model, components_.data.evaluate,
                  {.inference = {.device = options_.device},
                   .batch_tokens = std::max<int64_t>(config_.train.batch_tokens.value_or(0), 4096),
                   .workers = config_.data.workers});
}

void Trainer::evaluate_now() {
  state_.pending_evaluation = true;
  Metrics metrics;
  try {
    metrics = evaluate_model();
  } catch (const Stopped&) {
    save_and_stop();
  }
  state_.pending_evaluation = false;
  evaluated_step_ = state_.progress.steps;
  log_evaluation(metrics);
  if (const auto tuned = metrics.find("eval_threshold"); tuned != metrics.end()) {
    state_.decision = {.threshold = tuned->second,
                       .tuned_by = components_.objective->decision_threshold().tuned_by};
  }
  finish_save();  // only saved checkpoints compete
  scored_before_ = state_.scored;
  const auto found = metrics.find(metric_for_best_model_);
  if (found != metrics.end()) {
    update_best_and_early_stopping(found->second);
  }
  if (is_best_at_this_step()) {
    record_save_step(state_.rollbacks, state_.progress.steps, config_.run.keep_last);
  }
}

bool Trainer::is_best_at_this_step() const {
  return std::any_of(
      state_.scored.begin(), state_.scored.end(),
      [&](const ScoredCheckpoint& scored) { return scored.step == state_.progress.steps; });
}

void Trainer::log_evaluation(const Metrics& metrics) {
  MetricsLog::Metrics tagged;
  std::vector<std::string> words;
  for (const auto& [name, value] : metrics) {
    tagged.emplace_back(name.starts_with("eval_") ? "eval/" + name.substr(5) : "eval/" + name,
                        value);
    words.push_back(name + " " + shortest_repr(std::round(value * 1e5) / 1e5));
  }
  metrics_log_.write(state_.progress.steps, tagged);
  log::info(str_cat("[evaluate] step ", state_.progress.steps, "  ", join(words, "  ")));
}

// Updates the best checkpoints and early stopping with a new metric.
void Trainer::update_best_and_early_stopping(double value) {
  const bool is_lower_better = lower_is_better(metric_for_best_model_);
  if (is_new_best(value)) {
    state_.scored.push_back({.step = state_.progress.steps, .value = value});
    std::stable_sort(state_.scored.begin(), state_.scored.end(),
                     [&](const ScoredCheckpoint& a, const ScoredCheckpoint& b) {
                       return is_lower_better ? a.value < b.value : a.value > b.value;
                     });
    state_.scored.resize(
        std::min(state_.scored.size(), static_cast<std::size_t>(config_.run.keep_best)));
  }
  const auto& options = config_.train.early_stopping;
  update_early_stopping(state_.early_stopping, value, is_lower_better, options);
  if (should_stop_early(state_.early_stopping, options)) {
    log::info(str_cat(
        "[train] stops early: ", state_.early_stopping.num_bad_evaluations,
        " evaluations without a better ", metric_for_best_model_,
        state_.early_stopping.best ? " than " + shortest_repr(*state_.early_stopping.best) : ""));
  }
}

bool Trainer::is_new_best(double value) const {
  if (!std::isfinite(value) || config_.run.keep_best == 0) {
    return false;
  }
  if (static_cast<int64_t>(state_.scored.size()) < config_.run.keep_best) {
    return true;
  }
  const double worst = state_.scored.back().value;
  return lower_is_better(metric_for_best_model_) ? value < worst : value > worst;
}

}  // namespace weft::train
