#include "train/optimizer/schedule.h"

#include "train/optimizer/schedule_registry.h"

namespace weft::train {

LearningRate::LearningRate(const ScheduleOptions& options,
                           const config::Duration& duration,
                           double lr)
    : schedule_(schedule_registry().at(options.type)),
      schedule_options_(options.own.has_value() ? options.own : schedule_.defaults),
      warmup_(options.warmup),
      duration_(duration),
      unit_(schedule_.counts_steps ? config::DurationUnit::kSteps : duration.unit),
      lr_(lr) {}

double LearningRate::at(const TrainingProgress& progress) {
  const double warmup_progress = progress.in(warmup_.unit);
  if (warmup_progress < warmup_.amount) {
    return lr_ * warmup_progress / warmup_.amount;
  }
  const double at = progress.in(unit_);
  if (!warmup_end_) {
    const bool is_exact = warmup_.unit == unit_ || warmup_.amount == 0;
    warmup_end_ = is_exact ? warmup_.amount : at;
  }
  const ScheduleSpan span{.warmup = *warmup_end_, .total = duration_.amount};
  return lr_ * schedule_.factor(schedule_options_, at, span);
}

}  // namespace weft::train
