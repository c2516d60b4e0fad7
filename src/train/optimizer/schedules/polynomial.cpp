#include <cmath>

#include "train/optimizer/schedule_registry.h"

namespace weft::train {

namespace {

struct PolynomialOptions {
  double power = 1;
  double min_lr_ratio = 0;
};

void read_polynomial(config::Section& section,
                     PolynomialOptions& options,
                     const ScheduleLimits& /*limits*/) {
  section.read("power", options.power,
               {.help = "Exponent of the polynomial decay.", .range = config::above(0)});
  read_min_lr_ratio(section, options.min_lr_ratio);
}

double polynomial_factor(const PolynomialOptions& options, double at, const ScheduleSpan& span) {
  return raised(std::pow(1.0 - decay_progress(at, span), options.power), options.min_lr_ratio);
}

}  // namespace

ScheduleDefinition polynomial() {
  return define_schedule({.name = "polynomial"}, read_polynomial, polynomial_factor);
}

}  // namespace weft::train
