#include "train/step/trial.h"

#include <optional>

#include "base/error.h"

namespace weft::train {

namespace {

// Whatever the run's length, the stream of a trial does not end.
RunConfig endless(RunConfig config) {
  config.train.duration = {.amount = 1e9};
  return config;
}

}  // namespace

Trial::Trial(const RunConfig& config, bool measures_parts)
    : config_(endless(config)), device_(choose_device(config.run.device)) {
  const auto threads = set_threads(config.train.threads);
  precision_ = choose_precision(config.train.precision, std::nullopt, config.model.dim, device_);
  task_ = prepare_task(config, std::nullopt, device_);
  directory_ = std::make_unique<RunDirectory>(place_.path());
  trainer_ = std::make_unique<Trainer>(config_, *directory_, task_,
                                       TrainerOptions{.device = device_,
                                                      .precision = precision_.type,
                                                      .threads = threads,
                                                      .measures_parts = measures_parts},
                                       std::nullopt);
}

void Trial::step() {
  if (!trainer_->step()) {
    throw UserError("the data end before the trial does");
  }
}

}  // namespace weft::train
