#include <algorithm>
#include <optional>

#include "base/string_util.h"
#include "train/optimizer/schedule_registry.h"

namespace weft::train {

namespace {

struct StableDecayOptions {
  double min_lr_ratio = 0;
  std::optional<config::Duration> decay = std::nullopt;  // nullopt: a tenth of the run
};

void check_decay(const config::Section& section,
                 const config::Duration& decay,
                 const ScheduleLimits& limits) {
  const auto& [duration, warmup] = limits;
  const double rest = duration.amount - (warmup.unit == duration.unit ? warmup.amount : 0);
  if (decay.unit != duration.unit) {
    section.fail("decay", "must have the unit of train.duration, " + config::to_string(duration));
  }
  if (decay.amount > rest) {
    section.fail("decay", str_cat(config::to_string(decay),
                                  " is longer than the rest of train.duration after the warm-up"));
  }
}

void read_stable_decay(config::Section& section,
                       StableDecayOptions& options,
                       const ScheduleLimits& limits) {
  read_min_lr_ratio(section, options.min_lr_ratio);
  section.read("decay", options.decay,
               {.help = "Length of the final decay phase. null: 10% of the run."});
  if (options.decay) {
    check_decay(section, *options.decay, limits);
  }
}

double stable_decay_factor(const StableDecayOptions& options, double at, const ScheduleSpan& span) {
  const double decay = options.decay ? options.decay->amount : 0.1 * span.total;
  const double begin = std::max(span.total - decay, span.warmup);
  if (at < begin) {
    return 1.0;
  }
  return raised(half_cosine(decay_progress(at, {.warmup = begin, .total = span.total})),
                options.min_lr_ratio);
}

}  // namespace

// arXiv:2404.06395: warmup, a plateau, then a short half-cosine decay.
ScheduleDefinition warmup_stable_decay() {
  return define_schedule({.name = "warmup_stable_decay"}, read_stable_decay, stable_decay_factor);
}

}  // namespace weft::train
