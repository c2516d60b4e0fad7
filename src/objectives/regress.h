#pragma once

#include <memory>

#include "config/section.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Type regress: one or more numbers for each text or pair of texts; squared error. `r_drop`:
/// weight of R-Drop's divergence (loss/r_drop.h).
std::unique_ptr<Objective> make_regress(double r_drop = 0);
std::unique_ptr<Objective> read_regress(config::Section& section);

}  // namespace weft::objectives
