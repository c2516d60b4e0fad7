#pragma once

#include "config/section.h"
#include "data/datasets/corruption_options.h"

namespace weft::objectives {

/// Throw config::Error.
void read_span_corruption(config::Section& section, data::SpanCorruptionOptions& options);
void read_denoising(config::Section& section, data::DenoisingOptions& options);

}  // namespace weft::objectives
