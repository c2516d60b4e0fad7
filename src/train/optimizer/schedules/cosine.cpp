#include "train/optimizer/schedule_registry.h"

namespace weft::train {

namespace {

struct CosineOptions {
  double min_lr_ratio = 0;
};

void read_cosine(config::Section& section,
                 CosineOptions& options,
                 const ScheduleLimits& /*limits*/) {
  read_min_lr_ratio(section, options.min_lr_ratio);
}

double cosine_factor(const CosineOptions& options, double at, const ScheduleSpan& span) {
  return raised(half_cosine(decay_progress(at, span)), options.min_lr_ratio);
}

}  // namespace

// arXiv:1608.03983, without restarts.
ScheduleDefinition cosine() {
  return define_schedule({.name = "cosine"}, read_cosine, cosine_factor);
}

}  // namespace weft::train
