#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/section.h"

namespace weft::train {

/// Refuses keys of `grid:` that no config has, with the nearest that one has, and those that a
/// sweep sets itself. Throws config::Error.
void check_grid(const config::Section& root, const std::vector<config::Axis>& grid);

/// A key and the value that it takes in a run, as YAML.
using Setting = std::vector<std::pair<std::string, std::string>>;

/// Every combination of the values, the last key changing fastest; one without keys for no grid.
std::vector<Setting> combinations(const std::vector<config::Axis>& grid);

/// A name for the run directory, `lr-5e-5_duration-3-epochs`: the shortest ends of the keys that
/// tell them apart. Different settings of one grid have different names.
std::string name_of(const Setting& setting);

/// `train.optimizer.lr=5e-5, train.duration=3 epochs`.
std::string to_string(const Setting& setting);

}  // namespace weft::train
