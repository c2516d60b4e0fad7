#pragma once

#include <memory>

#include "config/section.h"
#include "data/datasets/corruption.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Type span_corruption: T5's, whose spans of the text give way to sentinels, and whose target is
/// the spans (arXiv:1910.10683, section 3.1.4).
std::unique_ptr<Objective> make_span_corruption(const data::SpanCorruptionOptions& options = {});
std::unique_ptr<Objective> read_span_corruption(config::Section& section);

}  // namespace weft::objectives
