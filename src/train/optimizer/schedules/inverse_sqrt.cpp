#include <cmath>

#include "train/optimizer/schedule_registry.h"

namespace weft::train {

namespace {

// Timescale without warmup.
constexpr double kTimescale = 10'000;

}  // namespace

// arXiv:1706.03762, section 5.3.
ScheduleDefinition inverse_sqrt() {
  return {.name = "inverse_sqrt",
          .counts_steps = true,
          .factor = [](const std::any& /*options*/, double at, const ScheduleSpan& span) {
            const double timescale = span.warmup > 0 ? span.warmup : kTimescale;
            return 1.0 / std::sqrt((at + timescale - span.warmup) / timescale);
          }};
}

}  // namespace weft::train
