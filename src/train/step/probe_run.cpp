#include "train/step/probe_run.h"

#include <optional>

#include "base/error.h"
#include "base/string_util.h"
#include "models/config/family.h"

namespace weft::train {

namespace {

// The data stream of a probe run does not end, whatever the run's length.
RunConfig endless(RunConfig config) {
  config.train.duration = {.amount = 1e9};
  return config;
}

const RunConfig& with_steps(const RunConfig& config) {
  if (models::capabilities_of(config.model.family).is_counted) {
    throw UserError(str_cat("model.type: ", models::word_of(config.model.family),
                            " is estimated in one pass over the data, so there is no training "
                            "step to measure"));
  }
  return config;
}

}  // namespace

ProbeRun::ProbeRun(const RunConfig& config, bool measures_time)
    : config_(endless(with_steps(config))), device_(choose_device(config.run.device)) {
  const auto threads = set_threads(config.train.threads);
  precision_ = choose_precision(config.train.precision, std::nullopt, config.model, device_);
  components_ = prepare_run(config, std::nullopt, device_);
  directory_ = std::make_unique<RunDirectory>(temporary_directory_.path());
  trainer_ = std::make_unique<Trainer>(config_, *directory_, components_,
                                       TrainerOptions{.device = device_,
                                                      .precision = precision_.type,
                                                      .threads = threads,
                                                      .measures_time = measures_time},
                                       std::nullopt);
}

void ProbeRun::step() {
  if (!trainer_->step()) {
    throw UserError("not enough data for the dry run");
  }
}

}  // namespace weft::train
