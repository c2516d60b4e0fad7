#include "train/trial.h"

#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace weft::train {

namespace {

std::string temporary_directory() {
  auto pattern = (std::filesystem::temp_directory_path() / "weft-trial-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw FileError(pattern + ": cannot make a temporary directory");
  }
  return pattern;
}

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
  path_ = temporary_directory();
  directory_ = std::make_unique<RunDirectory>(path_);
  trainer_ = std::make_unique<Trainer>(config_, *directory_, task_,
                                       TrainerOptions{.device = device_,
                                                      .precision = precision_.type,
                                                      .threads = threads,
                                                      .measures_parts = measures_parts},
                                       std::nullopt);
}

Trial::~Trial() {
  trainer_.reset();
  directory_.reset();
  try {
    remove_tree(path_);
  } catch (const FileError&) {
    // A folder too many among the temporary ones does no harm.
  }
}

void Trial::step() {
  if (!trainer_->step()) {
    throw UserError("the data end before the trial does");
  }
}

}  // namespace weft::train
