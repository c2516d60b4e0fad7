#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "objectives/loss/class_options.h"

namespace weft::objectives {

/// Weights of the classes in the order of their ids; empty where all are alike. Throws
/// config::Error for a name that is no class, and where nothing can be balanced.
std::vector<double> class_weights(const ClassOptions& options,
                                  const std::vector<std::string>& labels,
                                  const std::vector<int64_t>& counts,
                                  int64_t rows);

}  // namespace weft::objectives
