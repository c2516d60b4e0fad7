#include "base/error.h"
#include "base/log.h"
#include "base/string_util.h"
#include "train/run/device.h"
#include "train/step/evaluation_driver.h"
#include "train/step/trainer.h"

namespace weft::train {

namespace {

// Of a model without parameters, which Model::fit has trained.
TrainingProgress progress_of_one_pass(const data::Dataset& data) {
  TrainingProgress progress{.steps = 1, .epochs = 1};
  for (int64_t item = 0; item < data.size(0); ++item) {
    progress.tokens += data.length(0, item);
  }
  return progress;
}

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
  state.metric_for_best_model = metric_for_best_model(config.train, *components.objective);
  const auto decision = components.objective->decision_threshold();
  state.decision = {.threshold = decision.threshold, .positive_label = decision.positive_label};
  if (components.model->parameters().empty()) {
    state.progress = progress_of_one_pass(*components.data.train);
  }
  return state;
}

// Handles data that differs from the checkpoint's: an error, unless the user allows it.
void take_changed_data(const RunComponents& components,
                       const TrainerOptions& options,
                       const ResumePoint& from,
                       TrainState& state) {
  const auto found = components.data.train->fingerprint();
  const auto what = str_cat("the training data differ from those of this checkpoint (fingerprint ",
                            to_hex(found), ", checkpoint ", to_hex(state.data), ")");
  if (!options.allows_changed_data) {
    throw UserError(str_cat(from.directory, ": ", what,
                            "; restore them, resume with the new data using --allow-changed-data, "
                            "or restart with --resume never"));
  }
  log::warning("[run] " + what + "; training continues with the new data, as requested");
  state.data = found;
}

}  // namespace

TrainState initial_state(const RunConfig& config,
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
    log::warning("[run] the evaluation data changed: metrics before and after are not comparable");
  }
  if (const auto& before = state.metric_for_best_model;
      !before.empty() && before != fresh.metric_for_best_model) {
    log::warning(str_cat("[run] best_by is ", fresh.metric_for_best_model, ", before ", before,
                         ": the best checkpoint is chosen anew, early stopping begins anew"));
    state.scored.clear();
    state.early_stopping = {};
  }
  if (state.threads != fresh.threads) {
    // If that changes bits, set_determinism has warned.
    log::info(str_cat("[run] ", fresh.threads, " threads, before ", state.threads));
  }
  if (state.versions != fresh.versions) {
    log::warning(str_cat("[run] ", fresh.versions, ", before ", state.versions));
  }
  state.decision.positive_label = fresh.decision.positive_label;
  state.precision = fresh.precision;
  state.threads = fresh.threads;
  state.evaluation_data = fresh.evaluation_data;
  state.metric_for_best_model = fresh.metric_for_best_model;
  state.versions = fresh.versions;
  return state;
}

}  // namespace weft::train
