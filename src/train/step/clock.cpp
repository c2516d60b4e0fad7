#include "train/step/clock.h"

#include <cmath>

namespace weft::train {

double Clock::in(config::DurationUnit unit) const {
  switch (unit) {
    case config::DurationUnit::kSteps:
      return static_cast<double>(steps);
    case config::DurationUnit::kEpochs:
      return epochs;
    case config::DurationUnit::kTokens:
      return static_cast<double>(tokens);
    case config::DurationUnit::kMinutes:
      return minutes;
  }
  return 0;
}

bool is_over(const Clock& clock, const config::Duration& duration) {
  return clock.in(duration.unit) >= duration.amount;
}

bool is_due(const Clock& before, const Clock& after, const config::Duration& every) {
  const auto beats = [&](const Clock& clock) {
    return std::floor(clock.in(every.unit) / every.amount);
  };
  return beats(after) > beats(before);
}

}  // namespace weft::train
