#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/section.h"

namespace weft::train {

/// Rejects keys of `grid:` that are no config keys, suggesting the nearest one, and keys that a
/// sweep sets itself. Throws config::Error.
void check_grid(const config::Section& root, const std::vector<config::GridAxis>& grid);

/// Keys and the values that they take in a run, as YAML.
using Setting = std::vector<std::pair<std::string, std::string>>;

/// All combinations of the values, the last key changing fastest; one empty one for no grid.
std::vector<Setting> combinations(const std::vector<config::GridAxis>& grid);

/// Name for the run directory, `lr-5e-5_duration-3-epochs`, built from the shortest suffixes that
/// distinguish the keys. Different settings of one grid have different names.
std::string name_of(const Setting& setting);

/// `train.optimizer.lr=5e-5, train.duration=3 epochs`.
std::string to_string(const Setting& setting);

}  // namespace weft::train
