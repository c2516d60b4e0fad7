#include "train/optimizer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "base/error.h"

namespace weft::train {

namespace {

// Timescale of the inverse square root where there is no warm-up to take it from.
constexpr double kTimescale = 10'000;

// Share of the way from the end of the warm-up to the end of the run, 0 to 1.
double progress(double at, const Stretch& stretch) {
  return std::clamp((at - stretch.warmup) / std::max(stretch.total - stretch.warmup, 1e-12), 0.0,
                    1.0);
}

double cosine(double progress) { return 0.5 * (1.0 + std::cos(std::numbers::pi * progress)); }

class Constant : public Schedule {
 public:
  explicit Constant(const ScheduleOptions& /*options*/) {}
  double factor(double /*at*/, const Stretch& /*stretch*/) const override { return 1.0; }
  bool counts_steps() const override { return true; }
};

class Linear : public Schedule {
 public:
  explicit Linear(const ScheduleOptions& options) : floor_(options.floor) {}
  double factor(double at, const Stretch& stretch) const override {
    return (1.0 - floor_) * (1.0 - progress(at, stretch)) + floor_;
  }

 private:
  double floor_;
};

class Cosine : public Schedule {
 public:
  explicit Cosine(const ScheduleOptions& options) : floor_(options.floor) {}
  double factor(double at, const Stretch& stretch) const override {
    return (1.0 - floor_) * cosine(progress(at, stretch)) + floor_;
  }

 private:
  double floor_;
};

class Polynomial : public Schedule {
 public:
  explicit Polynomial(const ScheduleOptions& options)
      : power_(options.power), floor_(options.floor) {}
  double factor(double at, const Stretch& stretch) const override {
    return (1.0 - floor_) * std::pow(1.0 - progress(at, stretch), power_) + floor_;
  }

 private:
  double power_;
  double floor_;
};

class InverseSquareRoot : public Schedule {
 public:
  explicit InverseSquareRoot(const ScheduleOptions& /*options*/) {}
  double factor(double at, const Stretch& stretch) const override {
    const double timescale = stretch.warmup > 0 ? stretch.warmup : kTimescale;
    return 1.0 / std::sqrt((at + timescale - stretch.warmup) / timescale);
  }
  bool counts_steps() const override { return true; }
};

// arXiv:2404.06395: warm-up, a plateau, then a short fall along a half cosine.
class WarmupStableDecay : public Schedule {
 public:
  explicit WarmupStableDecay(const ScheduleOptions& options)
      : decay_(options.decay ? std::optional<double>(options.decay->amount) : std::nullopt),
        floor_(options.floor) {}
  double factor(double at, const Stretch& stretch) const override {
    const double decay = decay_.value_or(0.1 * stretch.total);
    const double begin = std::max(stretch.total - decay, stretch.warmup);
    if (at < begin) {
      return 1.0;
    }
    return (1.0 - floor_) * cosine(progress(at, {.warmup = begin, .total = stretch.total})) +
           floor_;
  }

 private:
  std::optional<double> decay_;
  double floor_;
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

double LearningRate::at(const Clock& clock) {
  const double warmed = clock.in(warmup_.unit);
  if (warmed < warmup_.amount) {
    return lr_ * warmed / warmup_.amount;
  }
  const double at = clock.in(unit_);
  if (!warmup_end_) {
    const bool is_exact = warmup_.unit == unit_ || warmup_.amount == 0;
    warmup_end_ = is_exact ? warmup_.amount : at;
  }
  return lr_ * schedule_->factor(at, {.warmup = *warmup_end_, .total = duration_.amount});
}

}  // namespace weft::train
