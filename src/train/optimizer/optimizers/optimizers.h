#pragma once

#include <array>
#include <string_view>

#include "train/optimizer/optimizer_definition.h"

namespace weft::train {

OptimizerDefinition adamw();
OptimizerDefinition sgd();
OptimizerDefinition lion();

/// Reads the key `betas`: two numbers in [0, 1). Throws config::Error.
void read_betas(config::Section& section, std::array<double, 2>& betas, std::string_view help);

}  // namespace weft::train
