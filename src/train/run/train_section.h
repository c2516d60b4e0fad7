#pragma once

#include "train/run/run_config.h"

namespace weft::train {

/// Reads `train:`, whose defaults depend on the model and the objective. Throws config::Error.
void read_train_section(const config::Section& root, config::Section& train, RunConfig& config);

}  // namespace weft::train
