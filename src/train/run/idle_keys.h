#pragma once

#include "config/section.h"
#include "train/run/run_config.h"

namespace weft::train {

/// Refuses values of `data:` and `train:` that would silently change nothing, beside others: what
/// only running text has for labelled texts, best_by where nothing is measured, rates of parts that
/// are not there or not trained. Values are looked at, not which keys were written, since a
/// resolved config writes all of them. Throws config::Error.
void refuse_idle_keys(const config::Section& data,
                      const config::Section& train,
                      const RunConfig& config);

}  // namespace weft::train
