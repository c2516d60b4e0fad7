#include "train/optimizer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "base/error.h"

namespace weft::train {

namespace {

// Timescale of the inverse square root schedule without warmup.
constexpr double kTimescale = 10'000;

// Fraction of the way from the end of warmup to the end of the run, 0 to 1.
double decay_progress(double at, const ScheduleSpan& span) {
  return std::clamp((at - span.warmup) / std::max(span.total - span.warmup, 1e-12), 0.0, 1.0);
}

double cosine(double progress) { return 0.5 * (1.0 + std::cos(std::numbers::pi * progress)); }

class Constant : public Schedule {
 public:
  explicit Constant(const ScheduleOptions& /*options*/) {}
  double factor(double /*at*/, const ScheduleSpan& /*span*/) const override { return 1.0; }
  bool counts_steps() const override { return true; }
};

class Linear : public Schedule {
 public:
  explicit Linear(const ScheduleOptions& options) : min_lr_ratio_(options.min_lr_ratio) {}
  double factor(double at, const ScheduleSpan& span) const override {
    return (1.0 - min_lr_ratio_) * (1.0 - decay_progress(at, span)) + min_lr_ratio_;
  }

 private:
  double min_lr_ratio_;
};

class Cosine : public Schedule {
 public:
  explicit Cosine(const ScheduleOptions& options) : min_lr_ratio_(options.min_lr_ratio) {}
  double factor(double at, const ScheduleSpan& span) const override {
    return (1.0 - min_lr_ratio_) * cosine(decay_progress(at, span)) + min_lr_ratio_;
  }

 private:
  double min_lr_ratio_;
};

class Polynomial : public Schedule {
 public:
  explicit Polynomial(const ScheduleOptions& options)
      : power_(options.power), min_lr_ratio_(options.min_lr_ratio) {}
  double factor(double at, const ScheduleSpan& span) const override {
    return (1.0 - min_lr_ratio_) * std::pow(1.0 - decay_progress(at, span), power_) + min_lr_ratio_;
  }

 private:
  double power_;
  double min_lr_ratio_;
};

class InverseSquareRoot : public Schedule {
 public:
  explicit InverseSquareRoot(const ScheduleOptions& /*options*/) {}
  double factor(double at, const ScheduleSpan& span) const override {
    const double timescale = span.warmup > 0 ? span.warmup : kTimescale;
    return 1.0 / std::sqrt((at + timescale - span.warmup) / timescale);
  }
  bool counts_steps() const override { return true; }
};

// arXiv:2404.06395: warmup, a plateau, then a short half-cosine decay.
class WarmupStableDecay : public Schedule {
 public:
  explicit WarmupStableDecay(const ScheduleOptions& options)
      : decay_(options.decay ? std::optional<double>(options.decay->amount) : std::nullopt),
        min_lr_ratio_(options.min_lr_ratio) {}
  double factor(double at, const ScheduleSpan& span) const override {
    const double decay = decay_.value_or(0.1 * span.total);
    const double begin = std::max(span.total - decay, span.warmup);
    if (at < begin) {
      return 1.0;
    }
    return (1.0 - min_lr_ratio_) *
               cosine(decay_progress(at, {.warmup = begin, .total = span.total})) +
           min_lr_ratio_;
  }

 private:
  std::optional<double> decay_;
  double min_lr_ratio_;
};

template <class Type>
std::unique_ptr<Schedule> construct_schedule(const ScheduleOptions& options) {
  return std::make_unique<Type>(options);
}

using ScheduleMaker = std::unique_ptr<Schedule> (*)(const ScheduleOptions&);
const std::vector<std::pair<ScheduleType, ScheduleMaker>> kScheduleTable = {
    {ScheduleType::kConstant, construct_schedule<Constant>},
    {ScheduleType::kLinear, construct_schedule<Linear>},
    {ScheduleType::kCosine, construct_schedule<Cosine>},
    {ScheduleType::kPolynomial, construct_schedule<Polynomial>},
    {ScheduleType::kInverseSquareRoot, construct_schedule<InverseSquareRoot>},
    {ScheduleType::kWarmupStableDecay, construct_schedule<WarmupStableDecay>},
};

}  // namespace

std::unique_ptr<Schedule> make_schedule(const ScheduleOptions& options) {
  for (const auto& [type, maker] : kScheduleTable) {
    if (type == options.type) {
      return maker(options);
    }
  }
  throw std::logic_error("schedule without a row in the table");
}

LearningRate::LearningRate(const ScheduleOptions& options,
                           const config::Duration& duration,
                           double lr)
    : schedule_(make_schedule(options)),
      warmup_(options.warmup),
      duration_(duration),
      unit_(schedule_->counts_steps() ? config::DurationUnit::kSteps : duration.unit),
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
  return lr_ * schedule_->factor(at, {.warmup = *warmup_end_, .total = duration_.amount});
}

}  // namespace weft::train
