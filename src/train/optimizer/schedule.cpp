#include "train/optimizer/schedule.h"

#include "base/string_util.h"

namespace weft::train {

ScheduleOptions read_schedule_options(config::Section section,
                                      const config::Duration& duration,
                                      config::RelativeDuration warmup) {
  ScheduleOptions options;
  schedule_registry().read_type(section, options.type, "Learning rate schedule after the warm-up.");
  section.read(
      "warmup", warmup,
      {.help = "Learning rate warm-up: length of the linear increase from zero to lr, as a "
               "duration or a fraction of the run (`10%` or `0.1`). `0 steps`: no "
               "warm-up."});
  options.warmup = warmup.of(duration);
  if (config::is_longer(options.warmup, duration)) {
    section.report("warmup", str_cat("the warm-up of ", config::to_string(options.warmup),
                                     " is longer than the run, whose duration is ",
                                     config::to_string(duration)));
  }
  const ScheduleLimits limits{.duration = duration, .warmup = options.warmup};
  schedule_registry().read_own_keys(
      section, options.type, options.own,
      [&](const ScheduleDefinition& definition, config::Section& keys, std::any& own) {
        if (definition.read) {
          definition.read(keys, own, limits);
        }
      });
  section.reject_unread();
  return options;
}

LearningRate::LearningRate(const ScheduleOptions& options,
                           const config::Duration& duration,
                           double lr)
    : schedule_(schedule_registry().at(options.type)),
      schedule_options_(options.own.has_value() ? options.own : schedule_.defaults),
      warmup_(options.warmup),
      duration_(duration),
      unit_(schedule_.counts_steps ? config::DurationUnit::kSteps : duration.unit),
      lr_(lr),
      warmup_config_(str_cat(
          config::to_string(warmup_), " in ", config::to_string({.amount = 1, .unit = unit_}))) {}

void LearningRate::set_warmup_end(const std::optional<WarmupEnd>& end) {
  warmup_end_ = end && end->config == warmup_config_ ? end : std::nullopt;
}

double LearningRate::progress_at_warmup_end(const TrainingProgress& progress) {
  if (warmup_.unit == unit_ || warmup_.amount == 0) {
    return warmup_.amount;
  }
  if (!warmup_end_) {
    // At the end of the warm-up the fraction is about 1; it is less if the config has changed.
    const double fraction = warmup_.amount / progress.in(warmup_.unit);
    warmup_end_ = {.progress = progress.in(unit_)*fraction, .config = warmup_config_};
  }
  return warmup_end_->progress;
}

double LearningRate::at(const TrainingProgress& progress) {
  const double warmup_progress = progress.in(warmup_.unit);
  if (warmup_progress < warmup_.amount) {
    return lr_ * warmup_progress / warmup_.amount;
  }
  const ScheduleSpan span{.warmup = progress_at_warmup_end(progress), .total = duration_.amount};
  return lr_ * schedule_.factor(schedule_options_, progress.in(unit_), span);
}

}  // namespace weft::train
