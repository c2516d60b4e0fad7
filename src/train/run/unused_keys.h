#pragma once

#include "config/section.h"
#include "train/run/run_config.h"

namespace weft::train {

/// Rejects options of `data:` and `train:` that have no effect in this configuration, for example:
/// options of running text for labelled texts, metric_for_best_model without an evaluation,
/// learning rates of parts that do not exist or are frozen. Checks values rather than which keys
/// were written, since a resolved config contains all keys. Throws config::Error.
void reject_unused_keys(const config::Section& data,
                        const config::Section& train,
                        const RunConfig& config);

}  // namespace weft::train
