#include "train/step/evaluation_driver.h"

#include <algorithm>
#include <cmath>

#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "base/log.h"
#include "base/string_util.h"
#include "batching/device_batch.h"
#include "data/data_loader.h"
#include "metrics/metric.h"

namespace weft::train {

std::string metric_for_best_model(const TrainOptions& options,
                                  const objectives::Objective& objective) {
  return options.metric_for_best_model.value_or(objective.metric_for_best_model());
}

bool selects_by_tests(const TrainOptions& options) {
  const auto& metric = options.metric_for_best_model;
  return metric && metric->starts_with("test_");
}

void reject_test_metric(const TrainOptions& options) {
  if (selects_by_tests(options)) {
    throw UserError(str_cat("train.best_by: ", *options.metric_for_best_model,
                            " is a metric of several runs with --test (--seeds, --folds or a "
                            "grid); a single run selects by a metric of data.evaluate, eval_..."));
  }
}

void check_metric(const std::string& metric, const objectives::Evaluation& evaluation) {
  std::vector<std::string> names;
  for (const auto& item : evaluation.result()) {
    names.push_back(item.first);
  }
  if (std::find(names.begin(), names.end(), metric) == names.end()) {
    const auto near = did_you_mean(metric, names);
    throw UserError(str_cat("train.best_by: '", metric, "' is not one of ", join(names),
                            near.empty() ? "" : ", did you mean '" + near + "'?"));
  }
  metrics::greater_is_better(metric, "train.best_by");  // throws for one that is not registered
}

EvaluationDriver::EvaluationDriver(const RunConfig& config,
                                   const RunComponents& components,
                                   const c10::Device& device)
    : config_(config),
      components_(components),
      device_(device),
      metric_(metric_for_best_model(config.train, *components.objective)) {}

void EvaluationDriver::check_metric_for_best_model() const {
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
  evaluation->add(*components_.model, batch, batching::context_of(batch, device_));
  check_metric(metric_, *evaluation);
}

std::optional<config::Duration> EvaluationDriver::interval() const {
  return components_.data.evaluate ? config_.train.evaluate_every : std::nullopt;
}

bool EvaluationDriver::is_due(const TrainingProgress& before, const TrainingProgress& after) const {
  const auto every = interval();
  return every && train::is_due(before, after, *every);
}

Metrics EvaluationDriver::evaluate(std::optional<EmaWeights>& ema,
                                   ProcessGroup& group,
                                   bool is_collective) const {
  std::optional<EmaWeights::EmaScope> ema_scope;
  if (ema) {
    ema_scope.emplace(*ema);
  }
  return train::evaluate(
      *components_.objective, *components_.model, components_.data.evaluate,
      {.inference = {.device = device_},
       .batch_tokens = std::max<int64_t>(config_.train.batch_tokens.value_or(0), 4096),
       .workers = config_.data.workers,
       .group = &group,
       .is_collective = is_collective});
}

std::string EvaluationDriver::compare_with_best(const TrainState& state,
                                                const Metrics& metrics) const {
  const auto found = metrics.find(metric_);
  // Early stopping has the best value too, for runs that keep no best checkpoint.
  const auto best = state.scored.empty() ? state.early_stopping.best : state.scored.front().value;
  const bool has_value = found != metrics.end() && std::isfinite(found->second);
  if (has_value && (!best || is_better(found->second, *best))) {
    return str_cat("best ", metric_, " ", metric_text(found->second), " (improved",
                   best ? " from " + metric_text(*best) : "", ")");
  }
  if (!best) {
    return "";
  }
  return str_cat("best ", metric_, " ", metric_text(*best),
                 state.scored.empty() ? "" : str_cat(" at step ", state.scored.front().step),
                 " (not improved)");
}

void EvaluationDriver::update(TrainState& state, const Metrics& metrics) {
  evaluated_step_ = state.progress.steps;
  if (const auto tuned = metrics.find("eval_threshold"); tuned != metrics.end()) {
    state.decision = components_.objective->decision_threshold();
    state.decision.threshold = tuned->second;
  }
  scored_before_ = state.scored;
  if (const auto found = metrics.find(metric_); found != metrics.end()) {
    update_best(state, found->second);
    update_stopping(state, found->second);
  }
  if (is_best_at_this_step(state)) {
    record_save_step(state.rollbacks, state.progress.steps, config_.run.keep_last);
  }
}

bool EvaluationDriver::is_best_at_this_step(const TrainState& state) {
  return std::any_of(state.scored.begin(), state.scored.end(), [&](const ScoredCheckpoint& scored) {
    return scored.step == state.progress.steps;
  });
}

void EvaluationDriver::update_best(TrainState& state, double value) const {
  if (!is_new_best(state, value)) {
    return;
  }
  state.scored.push_back({.step = state.progress.steps, .value = value});
  std::stable_sort(state.scored.begin(), state.scored.end(),
                   [&](const ScoredCheckpoint& a, const ScoredCheckpoint& b) {
                     return is_better(a.value, b.value);
                   });
  state.scored.resize(
      std::min(state.scored.size(), static_cast<std::size_t>(config_.run.keep_best)));
}

void EvaluationDriver::update_stopping(TrainState& state, double value) const {
  const auto& options = config_.train.early_stopping;
  auto& stopping = state.early_stopping;
  update_early_stopping(stopping, value, greater_is_better(), options);
  if (should_stop_early(stopping, options)) {
    log::info(str_cat("[train] early stopping: ", stopping.num_bad_evaluations,
                      " evaluations without improvement of ", metric_,
                      stopping.best ? " than " + shortest_repr(*stopping.best) : ""));
  }
}

bool EvaluationDriver::is_new_best(const TrainState& state, double value) const {
  if (!std::isfinite(value) || config_.run.keep_best == 0) {
    return false;
  }
  return static_cast<int64_t>(state.scored.size()) < config_.run.keep_best ||
         is_better(value, state.scored.back().value);
}

bool EvaluationDriver::is_better(double a, double b) const {
  return greater_is_better() ? a > b : a < b;
}

bool EvaluationDriver::greater_is_better() const {
  return metrics::greater_is_better(metric_, "train.best_by");
}

}  // namespace weft::train
