#pragma once

#include <string>

#include "train/sweep/sweep.h"

namespace weft::train {

/// One JSON object on one line: every run with its figures, every setting with their means and
/// deviations, best first.
std::string to_json(const SweepResult& result);

/// For people: of one setting a line for each figure, of several a line for each setting and the
/// name of the best.
std::string to_table(const SweepResult& result);

}  // namespace weft::train
