#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "objectives/loss/class_options.h"

namespace weft::objectives {

/// Class weights, in the order of the ids; empty if all are equal. Throws config::Error for an
/// unknown class name, and if the classes cannot be balanced.
std::vector<double> class_weights(const ClassOptions& options,
                                  const std::vector<std::string>& labels,
                                  const std::vector<int64_t>& counts,
                                  int64_t rows);

}  // namespace weft::objectives
