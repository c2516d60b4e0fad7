#include "train/log/remaining_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::train {

double completed_fraction(const TrainingProgress& progress, const config::Duration& duration) {
  return std::min(1.0, progress.in(duration.unit) / duration.amount);
}

RemainingTime::RemainingTime(const TrainingProgress& begin,
                             const config::Duration& duration,
                             const std::optional<config::Duration>& evaluate_every)
    : duration_(duration),
      evaluate_every_(evaluate_every),
      fraction_at_begin_(completed_fraction(begin, duration)),
      evaluated_(begin) {}

void RemainingTime::add_evaluation(const TrainingProgress& at, double seconds) {
  evaluated_ = at;
  evaluation_seconds_ += seconds;
  ++evaluations_;
}

double RemainingTime::seconds(const TrainingProgress& now) const {
  const double units_per_second = TrainingProgress{.minutes = 1.0 / 60}.in(duration_.unit);
  if (units_per_second > 0) {
    return std::max(0.0, duration_.amount - now.in(duration_.unit)) / units_per_second;
  }
  const double completed = completed_fraction(now, duration_);
  if (completed <= fraction_at_begin_) {
    return std::numeric_limits<double>::infinity();
  }
  const double training = step_seconds_ * (1 - completed) / (completed - fraction_at_begin_);
  return evaluations_ == 0 ? training
                           : training + evaluations_to_come(now) * evaluation_seconds_ /
                                            static_cast<double>(evaluations_);
}

// At the multiples of the interval after the last evaluation, and at the end of the run.
double RemainingTime::evaluations_to_come(const TrainingProgress& now) const {
  constexpr double kRounding = 1e-6;  // of the extrapolated end
  if (!evaluate_every_ || is_over(evaluated_, duration_)) {
    return 0;
  }
  const auto unit = evaluate_every_->unit;
  const double end =
      unit == duration_.unit ? duration_.amount : now.in(unit) / completed_fraction(now, duration_);
  return std::max(0.0, std::ceil(end / evaluate_every_->amount - kRounding) -
                           std::floor(evaluated_.in(unit) / evaluate_every_->amount));
}

}  // namespace weft::train
