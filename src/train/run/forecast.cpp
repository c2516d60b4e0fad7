#include <chrono>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "train/run/device.h"
#include "train/run/train.h"
#include "train/step/trial.h"

namespace weft::train {

namespace {

template <class Work>
double seconds_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int64_t bytes_below(const std::string& directory) {
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    bytes += entry.is_regular_file() && !entry.is_symlink()
                 ? static_cast<int64_t>(entry.file_size())
                 : 0;
  }
  return bytes;
}

double steps_of(const config::Duration& duration, Trainer& trainer, double step_seconds) {
  switch (duration.unit) {
    case config::DurationUnit::kSteps:
      return duration.amount;
    case config::DurationUnit::kEpochs:
      return duration.amount * static_cast<double>(trainer.steps_per_epoch());
    case config::DurationUnit::kTokens:
      return duration.amount / static_cast<double>(std::max<int64_t>(trainer.result().tokens, 1));
    case config::DurationUnit::kMinutes:
      return 60 * duration.amount / step_seconds;
  }
  return 0;
}

}  // namespace

Forecast dry_run(const RunConfig& config) {
  Trial trial(config, false);
  auto& trainer = trial.trainer();
  Forecast forecast;
  trial.step();  // the first one fills caches and tells little about time
  forecast.step_seconds = seconds_of([&] { trial.step(); });
  forecast.save_seconds = seconds_of([&] { trainer.save(); });
  forecast.parameters = trainer.arena().parameters();
  forecast.precision = precision_name(trial.precision().type);
  forecast.device = trial.device().str();
  forecast.step_tokens = trainer.result().tokens;
  forecast.checkpoint_bytes =
      bytes_below(trial.directory() + "/" + checkpoint_name(trainer.state().clock.steps));
  const double steps = steps_of(config.train.duration, trainer, forecast.step_seconds);
  forecast.steps = std::llround(std::ceil(steps));
  forecast.total_seconds = steps * forecast.step_seconds;
  forecast.memory_bytes = peak_memory();
  if (config.train.saves_async) {
    forecast.memory_bytes += copied_bytes(trainer.checkpoint_parts());
  }
  forecast.free_disk_bytes = free_bytes(config.run.directory);
  return forecast;
}

}  // namespace weft::train
