#pragma once

#include "config/section.h"
#include "data/datasets/masking.h"

namespace weft::objectives {

/// Reads the keys of objectives that mask tokens; what `mask` holds are the defaults. Throws
/// config::Error.
void read_mask_options(config::Section& section, data::MaskOptions& mask);

}  // namespace weft::objectives
