// The program `weft` with a schedule of our own, `train.schedule.type: triangular`: the cyclical
// learning rate of arXiv:1506.01186, section 3.2. It rises from min_factor times lr to lr and falls
// again, num_cycles times between the end of warmup and the end of the run.
//
//   train:
//     schedule: {type: triangular, num_cycles: 4, min_factor: 0.1}
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cli/run.h"
#include "train/optimizer/schedule_registry.h"

namespace {

struct TriangularOptions {
  int64_t num_cycles = 4;
  double min_factor = 0.1;
};

/// `cosine_with_restarts` has a key num_cycles too: types may share names of keys.
void read_triangular(weft::config::Section& section,
                     TriangularOptions& options,
                     const weft::train::ScheduleLimits& /*limits*/) {
  section.read("num_cycles", options.num_cycles,
               {.help = "How often the rate rises and falls.",
                .unit = "cycles",
                .range = weft::config::between(1, 1e9)});
  section.read("min_factor", options.min_factor,
               {.help = "Least rate, as a fraction of lr.", .range = weft::config::between(0, 1)});
}

/// The rate as a fraction of lr.
double triangular_factor(const TriangularOptions& options,
                         double at,
                         const weft::train::ScheduleSpan& span) {
  const double length =
      std::max(span.total - span.warmup, 1e-12) / static_cast<double>(options.num_cycles);
  const double phase = std::fmod((at - span.warmup) / length, 1.0);  // of the cycle
  const double height = 1 - std::abs(2 * phase - 1);                 // 0 to 1 to 0
  return options.min_factor + (1 - options.min_factor) * height;
}

}  // namespace

int main(int argc, char** argv) {
  weft::train::register_schedule(
      weft::train::define_schedule({.name = "triangular"}, read_triangular, triangular_factor));
  return weft::run(argc, argv);
}
