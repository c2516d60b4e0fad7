#pragma once

#include <memory>

#include "config/section.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Type prefix_lm: the rest of a text after a prefix with bidirectional attention
/// (arXiv:1910.10683, section 3.2.1). An encoder-decoder reads the prefix in its encoder; a decoder
/// also learns the targets of pairs, whose source is the prefix.
std::unique_ptr<Objective> make_prefix_lm();
std::unique_ptr<Objective> read_prefix_lm(config::Section& section);

}  // namespace weft::objectives
