#include "train/step/training_progress.h"

#include <cmath>

namespace weft::train {

double TrainingProgress::in(config::DurationUnit unit) const {
  switch (unit) {
    case config::DurationUnit::kSteps:
      return static_cast<double>(steps);
    case config::DurationUnit::kEpochs:
      return epochs;
    case config::DurationUnit::kTokens:
      return static_cast<double>(tokens);
    case config::DurationUnit::kSeconds:
      return 60 * minutes;
    case config::DurationUnit::kMinutes:
      return minutes;
    case config::DurationUnit::kHours:
      return minutes / 60;
  }
  return 0;
}

bool is_over(const TrainingProgress& progress, const config::Duration& duration) {
  return progress.in(duration.unit) >= duration.amount;
}

bool is_due(const TrainingProgress& before,
            const TrainingProgress& after,
            const config::Duration& every) {
  // Both numbers may be rounded: three times 0.1 epochs are 0.3 epochs.
  constexpr double kRounding = 1e-12;
  const auto multiples = [&](const TrainingProgress& progress) {
    return std::floor(progress.in(every.unit) / every.amount * (1 + kRounding));
  };
  return multiples(after) > multiples(before);
}

}  // namespace weft::train
