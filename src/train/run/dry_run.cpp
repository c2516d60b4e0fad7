#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/file.h"
#include "train/run/device.h"
#include "train/run/train.h"
#include "train/step/probe_run.h"

namespace weft::train {

namespace {

template <class Work>
double seconds_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double steps_of(const config::Duration& duration, Trainer& trainer, double step_seconds) {
  switch (duration.unit) {
    case config::DurationUnit::kSteps:
      return duration.amount;
    case config::DurationUnit::kEpochs:
      return duration.amount * static_cast<double>(trainer.steps_per_epoch());
    case config::DurationUnit::kTokens:
      return duration.amount / static_cast<double>(std::max<int64_t>(trainer.result().tokens, 1));
    case config::DurationUnit::kSeconds:
    case config::DurationUnit::kMinutes:
    case config::DurationUnit::kHours:
      return *config::seconds_in(duration.unit) * duration.amount / step_seconds;
  }
  return 0;
}

}  // namespace

DryRunReport dry_run(const RunConfig& config) {
  ProbeRun probe(config, false);
  auto& trainer = probe.trainer();
  DryRunReport report;
  probe.step();  // warm-up: its time is not representative
  report.step_seconds = seconds_of([&] { probe.step(); });
  report.save_seconds = seconds_of([&] { trainer.save(); });
  report.parameters = trainer.flat_parameters().parameters();
  report.precision = precision_name(probe.precision().type);
  report.device = probe.device().str();
  report.step_tokens = trainer.result().tokens;
  report.checkpoint_bytes =
      bytes_of_files(probe.directory() + "/" + checkpoint_name(trainer.state().progress.steps));
  const double steps = steps_of(config.train.duration, trainer, report.step_seconds);
  report.steps = std::llround(std::ceil(steps));
  report.total_seconds = steps * report.step_seconds;
  report.memory_bytes = peak_memory();
  report.rank_plan_sizes =
      rank_plan_sizes(trainer.flat_parameters(), trainer.optimizer(), config.train);
  report.expert_plan_sizes =
      expert_plan_sizes(*probe.components().model, trainer.flat_parameters(), config.train);
  report.other_bytes = std::max<int64_t>(
      report.memory_bytes -
          std::llround(rank_state_bytes(report.rank_plan_sizes, Sharding::kNone, 1)),
      0);
  if (config.train.saves_async) {
    report.memory_bytes += snapshot_bytes(trainer.checkpoint_parts());
  }
  report.free_disk_bytes = free_bytes(config.run.directory);
  return report;
}

}  // namespace weft::train
