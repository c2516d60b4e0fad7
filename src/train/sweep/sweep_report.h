#pragma once

#include <string>

#include "train/sweep/sweep.h"

namespace weft::train {

/// One JSON object on one line: every run with its metrics, every setting with means and standard
/// deviations, best first.
std::string to_json(const SweepResult& result);

/// Human-readable table: for one setting a line per metric, for several a line per setting and the
/// name of the best.
std::string to_table(const SweepResult& result);

}  // namespace weft::train
