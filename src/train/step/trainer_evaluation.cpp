// The part of Trainer that measures: when, on which weights, and what follows from the figures.
#include <algorithm>
#include <cmath>
#include <optional>

#include <ATen/core/grad_mode.h>

#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "batching/stage.h"
#include "train/step/trainer.h"

namespace weft::train {

// A figure's name is known only once one was made: a small part of the data tells, before hours are
// spent.
void Trainer::check_best_by() {
  const bool is_used =
      config_.train.early_stopping.patience || (config_.train.best_by && config_.run.keep_best > 0);
  if (!is_used) {
    return;
  }
  if (!task_.data.evaluate) {
    log::warning("[train] best_by has no effect: there is no data.evaluate");
    return;
  }
  const at::NoGradGuard no_grad;
  data::Loader loader(task_.data.evaluate, {.shuffles = false, .batch_sequences = 2, .workers = 0});
  const auto evaluation = task_.objective->evaluation();
  const auto batch = loader.next()->micro.front();
  evaluation->add(*task_.model, batch, batching::stage(batch, options_.device).pass);
  std::vector<std::string> names;
  for (const auto& item : evaluation->result()) {
    names.push_back(item.first);
  }
  if (std::find(names.begin(), names.end(), best_by_) == names.end()) {
    throw UserError(text("train.best_by: '", best_by_, "' is not one of ", join(names)));
  }
}

bool Trainer::evaluates() const {
  return task_.data.evaluate != nullptr && config_.train.evaluate_every.has_value();
}

bool Trainer::wants_evaluation(const Clock& before) const {
  return evaluates() && is_due(before, state_.clock, *config_.train.evaluate_every);
}

Figures Trainer::evaluate_model() {
  std::optional<WeightAverage::InUse> in_use;
  if (average_) {
    in_use.emplace(*average_);
  }
  return evaluate(*task_.objective, *task_.model, task_.data.evaluate,
                  {.inference = {.device = options_.device},
                   .batch_tokens = std::max<int64_t>(config_.train.batch_tokens.value_or(0), 4096),
                   .workers = config_.data.workers});
}

void Trainer::evaluate_now() {
  state_.owes_evaluation = true;
  Figures figures;
  try {
    figures = evaluate_model();
  } catch (const Stopped&) {
    leave();
  }
  state_.owes_evaluation = false;
  evaluated_step_ = state_.clock.steps;
  log_evaluation(figures);
  if (const auto tuned = figures.find("eval_threshold"); tuned != figures.end()) {
    state_.decision = {.threshold = tuned->second,
                       .tuned_by = objectives::word_of(*config_.objective.classes.tunes_threshold)};
  }
  settle_save();  // only checkpoints that are there compete
  scored_before_ = state_.scored;
  const auto found = figures.find(best_by_);
  if (found != figures.end()) {
    judge(found->second);
  }
  if (is_best_now()) {
    note_due(state_.rollbacks, state_.clock.steps, config_.run.keep_last);
  }
}

bool Trainer::is_best_now() const {
  return std::any_of(state_.scored.begin(), state_.scored.end(),
                     [&](const Scored& scored) { return scored.step == state_.clock.steps; });
}

void Trainer::log_evaluation(const Figures& figures) {
  MetricsLog::Figures tagged;
  std::vector<std::string> words;
  for (const auto& [name, value] : figures) {
    tagged.emplace_back(name.starts_with("eval_") ? "eval/" + name.substr(5) : "eval/" + name,
                        value);
    words.push_back(name + " " + shortest(std::round(value * 1e5) / 1e5));
  }
  metrics_.write(state_.clock.steps, tagged);
  log::info(text("[evaluate] step ", state_.clock.steps, "  ", join(words, "  ")));
}

// What a new figure means for the best checkpoints and for early stopping.
void Trainer::judge(double value) {
  const bool is_low = is_better_low(best_by_);
  if (is_new_best(value)) {
    state_.scored.push_back({.step = state_.clock.steps, .value = value});
    std::stable_sort(state_.scored.begin(), state_.scored.end(),
                     [&](const Scored& a, const Scored& b) {
                       return is_low ? a.value < b.value : a.value > b.value;
                     });
    state_.scored.resize(
        std::min(state_.scored.size(), static_cast<std::size_t>(config_.run.keep_best)));
  }
  const auto& rule = config_.train.early_stopping;
  count(state_.patience, value, is_low, rule);
  if (is_exhausted(state_.patience, rule)) {
    log::info(text("[train] stops early: ", state_.patience.waited,
                   " evaluations without a better ", best_by_,
                   state_.patience.best ? " than " + shortest(*state_.patience.best) : ""));
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
  return is_better_low(best_by_) ? value < worst : value > worst;
}

}  // namespace weft::train
