#include <cmath>

#include "train/optimizer/schedule_registry.h"

namespace weft::train {

namespace {

struct RestartOptions {
  int64_t num_cycles = 1;
};

void read_restarts(config::Section& section,
                   RestartOptions& options,
                   const ScheduleLimits& /*limits*/) {
  section.read("num_cycles", options.num_cycles,
               {.help = "Number of cosine cycles with hard restarts; each decays the learning rate "
                        "from lr to zero.",
                .unit = "cycles",
                .range = config::between(1, 1e9)});
}

double restart_factor(const RestartOptions& options, double at, const ScheduleSpan& span) {
  const double progress = decay_progress(at, span);
  return progress < 1.0
             ? half_cosine(std::fmod(static_cast<double>(options.num_cycles) * progress, 1.0))
             : 0.0;
}

}  // namespace

// arXiv:1608.03983, with cycles of equal length.
ScheduleDefinition cosine_with_restarts() {
  return define_schedule({.name = "cosine_with_restarts"}, read_restarts, restart_factor);
}

}  // namespace weft::train
