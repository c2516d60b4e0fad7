#pragma once

#include <memory>

#include "config/section.h"
#include "data/datasets/masking.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Type translation_lm: masked language modelling on parallel lines, each pair one sequence
/// (arXiv:1901.07291, section 3.3).
std::unique_ptr<Objective> make_translation_lm(const data::MaskOptions& mask = {});
std::unique_ptr<Objective> read_translation_lm(config::Section& section);

}  // namespace weft::objectives
